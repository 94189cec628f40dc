"""What `groupspec explain` says of a name, and what the book says in the same words."""
