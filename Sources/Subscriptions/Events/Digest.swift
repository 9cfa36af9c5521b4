/// SHA-256 of a text's UTF-8 bytes. Passed in, because this module computes and imports nothing.
package typealias Digest = (String) -> [UInt8]
