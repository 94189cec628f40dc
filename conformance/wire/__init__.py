"""The wire kit: any client, in its own process, against a scripted broker; a verdict for every rule."""
