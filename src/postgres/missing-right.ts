import pg from 'pg';

/** Whose right it is, and where. */
export interface Login {
  readonly user: string;
  readonly database: string;
}

const onDatabase = (right: string, {user, database}: Login) =>
  `GRANT ${right} ON DATABASE ${pg.escapeIdentifier(database)} TO ${pg.escapeIdentifier(user)};`;

/** The statement that lets a login make our schemas; the owner of the database runs it. */
export function grantCreate(login: Login): string {
  return onDatabase('CREATE', login);
}

/**
 * Which right is missing, on what, and the statement that gives it.
 * @param message - of the server, with SQLSTATE 42501: it names a thing, never a value
 */
export function describeMissingRight(message: string, login: Login): string {
  const {user} = login;
  const [, kind = '', name = ''] =
    /^permission denied for ([a-z ]+?) "?([^"]+)"?$/.exec(message) ?? [];
  if (kind === 'database') {
    // At the beginning of a session the server quotes the name, and then it is another right.
    const right = message.endsWith('"') ? 'CONNECT' : 'CREATE';
    return `${user} lacks ${right} on the database ${name}; let its owner run ${onDatabase(right, login)}`;
  }
  if (kind !== '')
    return `${user} lacks a right on the ${kind} ${name}; let the owner of the schemas run GRANT fieldmirror_worker TO ${pg.escapeIdentifier(user)}; or connect as the owner`;
  return `${user} lacks a right; connect as the owner of the schemas, or let the owner give it`;
}
