"""The published profile: for each machine, the rows that the threading refactor proposal has otherwise.

The proposal is taken to the letter. `overlay.py` says how its rows stand in the place of deployed ones, and the book of
differences why they differ.
"""
