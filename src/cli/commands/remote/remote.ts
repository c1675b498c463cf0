/** Commands for the holder of a credential, on any machine: they ask a server elsewhere and need no installation. */
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import type { Command } from 'commander';
import { askServer, askToken, type Payload, type TokenWish } from '#src/app/remote/ask-server.ts';
import { addLogin, headersOf, type LoginCredential, removeLogin } from '#src/app/remote/login-file.ts';
import { triggerableEvents } from '#src/app/sandbox/triggerable-events.ts';
import { loginFile } from '#src/app/settings/remote-caller.ts';
import { type Output, UsageError } from '../../terminal/output.ts';
import { readSecret } from '../../terminal/read-secret.ts';
import { originOf, remoteServer } from './remote-server.ts';

type Asked = { url?: string };

const urlFlags = '--url <url>';
const urlText = 'address of the server; default: that of the last login';

export const remoteCommands = (program: Command, output: Output): void => {
  loginCommand(program, output);
  program
    .command('logout')
    .description('remove the credential of a server from this machine; it stays valid for others')
    .option(urlFlags, urlText)
    .action(({ url }: Asked) => {
      const ended = removeLogin(loginFile(), url === undefined ? undefined : originOf(url));
      if (ended === undefined) throw new UsageError('there is no such login');
      output.result({ url: ended, removed: true });
    });
  triggerCommand(program, output);
  program
    .command('whoami')
    .description('what the credential is, and which restaurants and scopes it has')
    .option(urlFlags, urlText)
    .action(async ({ url }: Asked) => {
      const server = remoteServer(url);
      output.result({ url: server.url, ...factsOf((await askServer(server, '/whoami', {})).payload) });
    });
};

const triggerCommand = (program: Command, output: Output): void => {
  program
    .command('trigger')
    .description('make a real example of an event in a sandbox, by what causes it')
    .argument('<event>', triggerableEvents.join(', '))
    .option(urlFlags, urlText)
    .option('--restaurant <restuid>', 'if the credential has several sandboxes')
    .addHelpText(
      'after',
      '\norder.timeout comes when the countdown of the order ends.\n\nExample:\n  orderpass trigger order.new',
    )
    .action(async (event: string, { url, restaurant }: Asked & { restaurant?: string }) => {
      const { triggerAt } = await import('#src/app/remote/remote-sandbox.ts');
      const { uid, isKindKnown } = await triggerAt(remoteServer(url), { event, restuid: restaurant });
      if (!isKindKnown)
        output.error(`The credential lacks read:webhooks, so it is not known whether the sandbox records ${event}.`);
      output.result({ event, uid });
    });
};

const loginCommand = (program: Command, output: Output): void => {
  program
    .command('login')
    .description('check a credential at a server, and keep it for the commands of integrators')
    .requiredOption(urlFlags, 'address of the server, e.g. https://orders.example')
    .option('--client-id <id>', 'id of an API client; without it the credential is an API key')
    .addHelpText('after', loginHelp)
    .action(async ({ url, clientId }: { url: string; clientId?: string }) => {
      const origin = originOf(url);
      const secret = await readCredential(clientId === undefined ? 'API key' : `Secret of ${clientId}`);
      const login: LoginCredential =
        clientId === undefined ? { api_key: secret } : { client_id: clientId, client_secret: secret };
      const { payload } = await askServer({ url: origin, credential: headersOf(login) }, '/whoami', {});
      addLogin(loginFile(), origin, login);
      output.result({ url: origin, ...factsOf(payload), kept_in: loginFile() });
    });
};

const loginHelp = `
The API key, or the secret of the client, is read from the terminal or from standard input, since arguments are visible in
the shell history. Nothing is kept when the server refuses it. The file can be read by you alone.

Examples:
  orderpass login --url https://orders.example --client-id opc_…
  echo "$KEY" | orderpass login --url https://orders.example`;

/** A line break cannot be part of a header field, so the first one ends the credential. */
const readCredential = async (name: string): Promise<string> => {
  const value = (process.stdin.isTTY ? await readSecret(`${name}: `) : await text(process.stdin)).trim();
  if (value === '') throw new UsageError(`Give the ${name} on standard input`);
  if (!/^[\x21-\x7e]{1,512}$/.test(value)) throw new UsageError(`The ${name} has characters that no credential has`);
  return value;
};

/** Without the members that say nothing to the holder. */
const factsOf = ({ success: _success, ...facts }: Payload): Payload => facts;

/** Added to the group `token`. */
export const addGetToken = (group: Command, output: Output): void => {
  group
    .command('get')
    .description('an access token for the client of the login; alone on standard output, for scripts')
    .option(urlFlags, urlText)
    .option('--scope <scopes>', 'scopes separated by spaces; default: all that the client has')
    .option(
      '--authorization-details <file-or-json>',
      'limits beside the scopes: a JSON array of RFC 9396, or the file that holds it',
    )
    .option('--resource <url...>', 'services that the token is for; default: all')
    .addHelpText(
      'after',
      '\nExample:\n  curl -H "Authorization: Bearer $(orderpass token get)" https://orders.example/api/whoami',
    )
    .action(async ({ url, authorizationDetails: details, ...wish }: Asked & TokenWish) => {
      const authorizationDetails = details === undefined ? undefined : readDetails(details);
      const token = await askToken(remoteServer(url), { ...wish, authorizationDetails });
      if (output.json) output.result(token);
      else output.line(String(token.access_token));
    });
};

/** A path never begins with the bracket of an array. */
const readDetails = (given: string): string => {
  if (given.trimStart().startsWith('[')) return given;
  try {
    return readFileSync(given, 'utf8');
  } catch {
    throw new UsageError(`--authorization-details is neither a JSON array nor a file that can be read: ${given}`);
  }
};
