"""The group's table as a test of any broker: requests drawn from a seed, and each answer judged by the table.

driving.py    many groups at once, at a broker
sending.py    what is sent: drawn in versions that the broker has, or a sequence sent once more
judging.py    one group's history against the table
target.py     what the broker says of itself, and the removal of what was written there
cells.py      a verdict for each cell of the table
shortest.py   the shortest sequence of requests that shows a breach
campaign.py   all of it
"""
