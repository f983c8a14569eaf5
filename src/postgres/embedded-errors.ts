// The errors of Postgres' programs when the embedded server does not start, and a person's next
// step for each.

import {FatalError} from '../core/errors.ts';

interface Place {
  readonly dataFolder: string;
  /** The user that the data folder must belong to. */
  readonly user: string;
}

type Mend = (place: Place) => string;

const mends: readonly (readonly [RegExp, Mend])[] = [
  [
    /was initialized by PostgreSQL version/,
    ({dataFolder}) =>
      `another version made it: run the Fieldmirror that did, or move ${dataFolder} away to begin anew (the mirror is read again; its history, and changes that were not sent yet, stay in the old one)`,
  ],
  [
    /postmaster\.pid" is empty/,
    ({dataFolder}) =>
      `a start was cut off, most likely by a full disk: see that no Postgres runs on that folder, then rm ${dataFolder}/postmaster.pid`,
  ],
  [/wrong ownership/, ({dataFolder, user}) => `chown -R ${user} ${dataFolder}`],
  [/invalid permissions/, ({dataFolder}) => `chmod 700 ${dataFolder}`],
  [
    /Permission denied|could not access directory/,
    ({dataFolder, user}) => `chown -R ${user} ${dataFolder}, and chmod 700 ${dataFolder}`,
  ],
  [/No space left/, () => 'make room on its disk'],
  [
    /password authentication failed/,
    ({dataFolder}) =>
      `${dataFolder}.password is not the password of this data folder: put the right one back, or stop the server (kill $(head -1 ${dataFolder}/postmaster.pid)) and rm ${dataFolder}.password, and the next start sets a new one`,
  ],
  [
    /lock file "postmaster\.pid" already exists/,
    ({dataFolder}) =>
      `a server runs there already that does not let us in: stop it (kill $(head -1 ${dataFolder}/postmaster.pid)) and start again`,
  ],
];

/**
 * @param said - all that Postgres' programs said of one try; errors of more tries one after the
 *   other
 */
export function explainStartFailure(place: Place, said: string, cause: unknown): FatalError {
  const mend = mends.find(([pattern]) => pattern.test(said))?.[1](place) ?? 'mend that';
  return new FatalError(
    `embedded Postgres in ${place.dataFolder}: expected it to start, got "${quote(said)}"; ${mend}, or set DATABASE_URL to a Postgres server`,
    {cause, kind: 'embedded-postgres'},
  );
}

/** The error itself, with its detail where there is one, but without time, process and speaker. */
function quote(said: string): string {
  const lines = said.split('\n').filter((line) => /\S/.test(line));
  const told = (word: string) =>
    lines.find((line) => line.includes(`${word}:  `))?.replace(/^.*?: {2}/, '');
  const fatal = told('FATAL') ?? lines.at(-1)?.trim() ?? 'nothing';
  const detail = told('DETAIL');
  return detail === undefined ? fatal : `${fatal}: ${detail}`;
}
