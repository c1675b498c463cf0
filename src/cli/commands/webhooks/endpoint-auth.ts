/** `endpoint auth`: what an endpoint logs in with at its receiver. Secrets come from files, since arguments are visible to others. */
import { readFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import type { Command } from 'commander';
import { type Output, UsageError } from '../../terminal/output.ts';
import { callWebhook, onEndpoint } from './call-webhook.ts';

type Options = {
  restaurant: string;
  endpoint: string;
  none?: boolean;
  certificate?: string;
  key?: string;
  tokenUrl?: string;
  clientId?: string;
  secretFile?: string;
  keyId?: string;
  audience?: string;
  scope?: string;
  header?: string;
  valueFile?: string;
};

export const authCommand = (group: Command, output: Output): void => {
  onEndpoint(group, 'auth', 'what an endpoint logs in with at its receiver; secrets are read from files (- for stdin)')
    .option('--certificate <file>', 'client certificate in PEM, with its chain; needs --key')
    .option('--key <file>', 'private key in PEM: of the certificate, or of the OAuth client (private_key_jwt)')
    .option('--token-url <url>', 'token endpoint of an OAuth client; needs --client-id')
    .option('--client-id <id>', 'the OAuth client; needs --secret-file or --key')
    .option('--secret-file <file>', 'file with the secret of the OAuth client')
    .option('--key-id <kid>', 'kid of assertions that the key signs')
    .option('--audience <audience>', 'aud of assertions (default the token URL)')
    .option('--scope <scope>', 'scope of the tokens')
    .option('--header <name>', 'name of a header with a fixed value; needs --value-file')
    .option('--value-file <file>', 'file with the value of the header')
    .option('--none', 'remove it')
    .action(async ({ restaurant, endpoint, ...options }: Options, command: Command) => {
      const auth = await authOf(options);
      const made = await callWebhook(command, restaurant, (webhooks) =>
        webhooks.updateEndpoint(restaurant, { uid: endpoint, auth }),
      );
      output.result(output.json ? made : { endpoint_uid: made.endpoint.uid, auth: made.endpoint.auth });
    });
};

type Given = Omit<Options, 'restaurant' | 'endpoint'>;

/** The operation checks which members go together. */
const authOf = async (options: Given): Promise<Record<string, string | undefined> | null> => {
  const named = [options.none, options.certificate, options.tokenUrl, options.header].filter(
    (one) => one !== undefined,
  );
  if (named.length !== 1) throw new UsageError('give one of --certificate, --token-url, --header and --none');
  if (options.none === true) return null;
  return {
    type: options.header !== undefined ? 'header' : options.tokenUrl !== undefined ? 'oauth' : 'certificate',
    certificate: await read(options.certificate),
    private_key: await read(options.key),
    token_url: options.tokenUrl,
    client_id: options.clientId,
    client_secret: await read(options.secretFile),
    key_id: options.keyId,
    audience: options.audience,
    scope: options.scope,
    name: options.header,
    value: await read(options.valueFile),
  };
};

const read = async (file: string | undefined): Promise<string | undefined> => {
  if (file === undefined) return undefined;
  if (file === '-') return (await text(process.stdin)).trim();
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (error) {
    throw new UsageError(`cannot read ${file}: ${error instanceof Error ? error.message : String(error)}`);
  }
};
