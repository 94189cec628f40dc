"""The properties are tested: each row of the specification is broken, and a property must notice."""
