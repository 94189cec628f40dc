"""Bytes and sockets."""
