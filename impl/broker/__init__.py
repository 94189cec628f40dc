"""A broker over TCP, scripted from outside."""
