// Shared by tests.
