// Loaded before the source, which Node before 24 cannot read: it would end in a stack of Node's own. Node of any age reads this.
if (Number.parseInt(process.versions.node, 10) < 24) {
  process.stderr.write(
    'fieldmirror: expected Node 24 or newer, got ' +
      process.version +
      '; install it, then npm install again\n',
  );
  process.exit(2);
}
