// PUT /v1/employees/{number}/login: gives an employee a login. The password is sent on to the
// service and stored nowhere. A problem never quotes the body.

import type {FastifyInstance} from 'fastify';
import type {ZodTypeProvider} from 'fastify-type-provider-zod';
import {z} from 'zod';
import {Secret} from '../core/secret.ts';
import {idPattern} from '../core/text.ts';
import {
  describeLogin,
  isLoginText,
  type LoginResult,
  loginText,
  type SetLogin,
} from '../push/set-login.ts';
import {getApiKey, type Turns} from './keys.ts';
import {checkWith, HttpProblem, problemSchema} from './problem.ts';

// Every message is our own: a message of zod may quote the input.
const loginTextSchema = z
  .string({error: `expected ${loginText}`})
  .refine(isLoginText, {error: `expected ${loginText}`});

const loginSchema = z.strictObject(
  {
    username: loginTextSchema.describe('Name to log in with.'),
    password: loginTextSchema.describe('Handed on to the service, and kept nowhere.'),
  },
  {error: 'expected an object of username and password, and nothing else'},
);

const loginAnswerSchema = z.object({
  employee_number: z.string(),
  username: z.string(),
  detail: z.string().describe('What is known: that the service has it, and what it shows.'),
});

export interface LoginRouteDeps {
  readonly turns: Turns;
  /** Null if this process opens no account, and so sends nothing. */
  readonly setLogin: SetLogin | null;
}

/** Adds the address in a separate part of the server, in which no problem quotes a body. */
export function addLogin(instance: FastifyInstance, deps: LoginRouteDeps): void {
  void instance.register(async (app) => {
    app.setValidatorCompiler<z.ZodType>(({schema, httpPart}) =>
      checkWith(schema, httpPart, {hidesValues: httpPart === 'body'}),
    );
    addRoute(app, deps);
  });
}

function addRoute(instance: FastifyInstance, {turns, setLogin}: LoginRouteDeps): void {
  const app = instance.withTypeProvider<ZodTypeProvider>();
  app.route({
    method: 'PUT',
    url: '/employees/:employee_number/login',
    schema: {
      operationId: 'setLogin',
      summary: 'Gives an employee a login, at once: user name and password.',
      tags: ['employees'],
      params: z.object({
        employee_number: z.string().regex(idPattern, {error: 'expected the number of an employee'}),
      }),
      body: loginSchema,
      response: {
        200: loginAnswerSchema,
        default: {
          description: 'What went wrong.',
          content: {'application/problem+json': {schema: problemSchema}},
        },
      },
    },
    handler: async (request) => {
      const {params, body, ip: address} = request;
      const {employee_number: number} = params;
      const {apiKeyId, accountId, name, role} = getApiKey(request, {mustWrite: true});
      if (setLogin === null)
        throw new HttpProblem(503, 'unavailable', {
          detail: 'this process has no tokens of accounts, and sends nothing to the service',
          hint: 'Ask the server of fieldmirror start, which has them. Nothing was done.',
        });
      const {username} = body;
      const login = {accountId, number, username, password: new Secret(body.password)};
      const author = {name: `http: ${name}`, role, address};
      const result = await turns.take(apiKeyId, () => setLogin({...login, by: author}));
      const {outcome} = result;
      if (outcome !== 'set') throw toLoginProblem(outcome, result);
      return {employee_number: number, username, detail: describeLogin(result)};
    },
  });
}

const statuses = {
  unknown: [504, 'in-doubt'],
  refused: [422, 'refused'],
  'not-found': [404, 'not-found'],
  'not-sent': [503, 'unavailable'],
} as const;

function toLoginProblem(
  outcome: keyof typeof statuses,
  {message: detail, hint}: LoginResult,
): HttpProblem {
  const [status, kind] = statuses[outcome];
  return new HttpProblem(status, kind, {detail, hint});
}
