/** Commands on the secrets and keys of an API client: use, rotation and end. */
import { readFileSync } from 'node:fs';
import type { Command } from 'commander';
import { type Output, toLine, UsageError } from '../../terminal/output.ts';
import { toWire } from '../../terminal/to-wire.ts';
import { withAdmin } from '../../terminal/with-admin.ts';

type ById = { clientId: string };

const listLimitMax = 1_000;

export const overlapHours = (text: string): number => {
  const hours = Number(text);
  if (text.trim() === '' || !Number.isFinite(hours)) throw new UsageError('--overlap-hours takes a number');
  return hours;
};

export const clientSecretCommands = (group: Command, output: Output): void => {
  group
    .command('list')
    .description('API clients with their state, oldest first')
    .option('--after <client-id>', 'clients after this one')
    .option('--limit <n>', `clients to show, up to ${listLimitMax}`, String(listLimitMax))
    .action(async ({ after, limit: text }: { after?: string; limit: string }, command: Command) => {
      const limit = Number(text);
      if (!Number.isInteger(limit) || limit < 1 || limit > listLimitMax)
        throw new UsageError(`--limit is 1 to ${listLimitMax}`);
      const found = await withAdmin(command, (admin) => admin.credentials.listClients({ after, limit: limit + 1 }));
      const clients = found.slice(0, limit).map(({ tenants, ...one }) => toWire({ ...one, restaurants: tenants }));
      const next_after = found.length > limit ? (found[limit - 1]?.clientId ?? null) : null;
      if (output.json) return output.result({ clients, next_after });
      output.list('clients', clients);
      if (next_after !== null) output.line(`\nMore: --after ${next_after}`);
    });
  addShow(group, output);
  group
    .command('rotate-secret')
    .description('create a new secret; the earlier ones end after the overlap')
    .requiredOption('--client-id <id>', 'the client')
    .option('--overlap-hours <hours>', 'hours for which the earlier secrets stay valid, 0 to 720', overlapHours, 168)
    .action(async (options: ById & { overlapHours: number }, command: Command) => {
      const made = await withAdmin(command, (admin) =>
        admin.credentials.rotateClientSecret(options.clientId, options.overlapHours),
      );
      output.result(
        { client_secret: made.secret, secret_id: made.secretId },
        'The secret is shown only now. `client show` tells when each one was used last.',
      );
    });
  group
    .command('retire-secret')
    .description('end a secret now; refused, with the reasons, unless its use shows that this is safe')
    .requiredOption('--client-id <id>', 'the client')
    .requiredOption('--secret-id <id>', 'the secret (`client show` lists them)')
    .option('--force', 'end it even if it is in use or the last credential of the client')
    .action(async (options: ById & { secretId: string; force?: boolean }, command: Command) => {
      const { clientId, secretId, force } = options;
      await withAdmin(command, (admin) => admin.credentials.retireClientSecret(clientId, secretId, force === true));
      output.result({ client_id: clientId, secret_id: secretId, retired: true });
    });
  addKeys(group, output);
};

const addShow = (group: Command, output: Output): void => {
  group
    .command('show')
    .description(
      'one client: its rights, secrets, keys and certificates, their use, and whether each can be retired safely',
    )
    .requiredOption('--client-id <id>', 'the client')
    .action(async (options: ById, command: Command) => {
      const { clientId: id } = options;
      const { used, ...shown } = await withAdmin(command, async (admin) => ({
        ...(await admin.credentials.showClient(id)),
        used: await admin.reportCallerUsage({ kind: 'client', id, days: 1 }),
      }));
      const { tenants, secrets, keys, certificates, trusts, ...rest } = shown;
      const { dayUnits, monthUnits, elsewhere } = used;
      const client = { ...rest, dayUnits, monthUnits, refusedElsewhere: elsewhere };
      if (output.json)
        return output.result(toWire({ ...client, restaurants: tenants, secrets, keys, certificates, trusts }));
      output.result(toWire({ ...client, restaurants: tenants }));
      for (const { safeToRetire: _safe, advice, ...secret } of secrets) {
        output.line(
          `secret  ${toLine(toWire(secret))}${advice === null ? '' : `  ${advice === 'safe' ? 'safe to retire' : advice.replaceAll('_', ' ')}`}`,
        );
      }
      for (const key of keys) output.line(`key     ${toLine(toWire(key))}`);
      for (const one of certificates) output.line(`certificate  ${toLine(toWire(one))}`);
      for (const trust of trusts) output.line(`trust   ${toLine(toWire(trust))}`);
    });
};

const addKeys = (group: Command, output: Output): void => {
  group
    .command('add-key')
    .description('register a public key for private_key_jwt (RFC 7523)')
    .requiredOption('--client-id <id>', 'the client')
    .requiredOption('--jwk <file>', 'public JWK: P-256, Ed25519 or RSA')
    .action(async (options: ById & { jwk: string }, command: Command) => {
      const jwk = readJwk(options.jwk);
      const added = await withAdmin(command, (admin) => admin.credentials.addClientKey(options.clientId, jwk));
      output.result({ client_id: added.clientId, key_id: added.keyId });
    });
  group
    .command('revoke-key')
    .description('end a registered public key')
    .requiredOption('--client-id <id>', 'the client')
    .requiredOption('--key-id <id>', 'the key (`client show` lists them)')
    .action(async (options: ById & { keyId: string }, command: Command) => {
      await withAdmin(command, (admin) => admin.credentials.revokeClientKey(options.clientId, options.keyId));
      output.result({ client_id: options.clientId, key_id: options.keyId, revoked: true });
    });
};

const readJwk = (file: string): unknown => {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    throw new Error(`${file} cannot be read`);
  }
  try {
    return JSON.parse(text);
  } catch {
    // The message of JSON.parse quotes the file, which may contain a private key.
    throw new Error(`${file} is not JSON`);
  }
};
