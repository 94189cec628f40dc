"""What exploration says about time: when can a member that lives, polls and is connected be put out of its group?

    linear      inequalities between whole numbers: solve, and eliminate a name
    automata    the language of the models: parts with clocks, whose limits are names
    parts       the models: heartbeat threads, wires, coordinators, applications, before and after KIP-62
    zones       exploring a model for all values of its limits at once
    small       exploring it with numbers in it, a millisecond at a time: the check on `zones`, and the shortest runs
    theorems    the questions, and their answers as conditions over the limits
    proofs      what is found against what is claimed, both ways, for all numbers

Nothing here needs a solver or a sample: an answer is computed from the model, exactly, and compared with the claim.
"""
