"""Roles with many choices, a file each: what every choice binds."""
