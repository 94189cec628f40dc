"""What must hold: rules, machines, and the compiler that turns them into tables."""
