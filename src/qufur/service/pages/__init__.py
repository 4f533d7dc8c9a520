"""Pages for people: streams, progress of a stream, labelling.

Pages are shells. They read and change data through /v1 as any other client, so one set of rules applies. Only
keys have their own forms.
"""
