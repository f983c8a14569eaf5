import {UsageError} from '../core/errors.ts';
import {Secret} from '../core/secret.ts';

/**
 * The `Authorization` header for a token: Basic, with the token as user and as password.
 * @throws {UsageError} a token that cannot be one: empty, with blanks, or with a colon, which would
 *   end the user name
 * @see docs/service.md "Authentication"
 */
export function toAuthorization(token: Secret): Secret {
  if (!/^[!-9;-~]+$/.test(token.reveal())) {
    throw new UsageError(
      "the API token: expected visible ASCII characters without blanks or colons, got something else; copy it again from the employee's page",
    );
  }
  return new Secret(`Basic ${encodeToken(token)}`);
}

function encodeToken(token: Secret): string {
  return Buffer.from(`${token.reveal()}:${token.reveal()}`).toString('base64');
}
