-- Operators find customers by the whole value of an attribute, such as an e-mail address. The index that this needs is built by a
-- step, while the processes work, and has the hashes of values alone.

COMMENT ON TABLE entitled.customer_attribute IS
    'Attributes of customers, under the id under which they were set. Of several ids of one customer the newest value of a '
    'key counts. No record depends on attributes, so they are not in the log. Operators find customers by whole values: an index '
    'has their hashes.';
