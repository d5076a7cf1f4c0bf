"""``labelinf audit client``: somebody's own client, probed and attacked."""
