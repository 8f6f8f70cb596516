# Takes memory until somebody says stop. The limit is the sandbox's own; the machine does not notice.
blocks = []
while True:
    blocks.append(bytearray(b"x") * (10 << 20))
    print(f"holding {10 * len(blocks)} MB", flush=True)
