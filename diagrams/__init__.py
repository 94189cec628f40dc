"""Pictures of the machines, drawn from their tables. Nothing here is for users: `groupspec render` and the book are."""
