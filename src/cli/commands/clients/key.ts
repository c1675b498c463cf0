import type { Command } from 'commander';
import { type Output, UsageError } from '../../terminal/output.ts';
import { expiresTime } from '../../terminal/to-time.ts';
import { toWire } from '../../terminal/to-wire.ts';
import { withAdmin } from '../../terminal/with-admin.ts';
import { overlapHours } from './client-secrets.ts';
import { limitCommands, networks } from './limits.ts';

export const keyCommands = (program: Command, output: Output): void => {
  const group = program.command('key').description('API keys of a restaurant');
  group
    .command('create')
    .description('create an API key; it is shown once')
    .requiredOption('--restaurant <restuid>', 'restaurant that the key belongs to')
    .option('--name <name>', 'what the key is for', 'API key')
    .option('--allow-ip <cidr...>', 'address or network that the key may be used from; repeat it for several', networks)
    .action(async (options: { restaurant: string; name: string; allowIp?: string[] }, command: Command) => {
      const { restaurant: tenant, name, allowIp } = options;
      const made = await withAdmin(command, (admin) =>
        admin.createKey({ tenant, name, ...(allowIp === undefined ? undefined : { allowIp }) }),
      );
      output.result({ api_key: made.value, key_id: made.keyId }, 'The key is shown only now.');
    });
  group
    .command('list')
    .description('the API keys of a restaurant with their state and use')
    .requiredOption('--restaurant <restuid>', 'the restaurant')
    .action(async (options: { restaurant: string }, command: Command) => {
      const keys = await withAdmin(command, (admin) => admin.credentials.listApiKeys(options.restaurant));
      output.list(
        'keys',
        keys.map(({ id, ...key }) => toWire({ keyId: id, ...key })),
      );
    });
  group
    .command('rotate')
    .description('create a new API key of the same restaurant; the old one ends after the overlap')
    .requiredOption('--key-id <id>', 'the old key')
    .option('--overlap-hours <hours>', 'hours for which the old key stays valid, 0 to 720', overlapHours, 168)
    .option(
      '--expires <time>',
      'the end of the new key: ISO 8601 with offset; without it the key does not expire',
      expiresTime,
    )
    .action(async (options: { keyId: string; overlapHours: number; expires?: Date }, command: Command) => {
      const { keyId, expires } = options;
      const made = await withAdmin(command, (admin) =>
        admin.credentials.rotateApiKey(keyId, options.overlapHours, { expires }),
      );
      output.result(
        { api_key: made.value, key_id: made.keyId, expires: expires?.toISOString() ?? null },
        `The key is shown only now. ${expires === undefined ? 'It does not expire; --expires gives a new key an end.' : 'It ends at the time above.'}`,
      );
    });
  addRevoke(group, output);
  addStates(group, output);
  limitCommands(group, output, 'key');
};

const addRevoke = (group: Command, output: Output): void => {
  group
    .command('revoke')
    .description('revoke an API key, or all of a restaurant; every gateway refuses them within a second')
    .option('--key-id <id>', 'id of the key, as shown at its creation')
    .option('--restaurant <restuid>', 'revoke every key of this restaurant')
    .action(async ({ keyId, restaurant }: { keyId?: string; restaurant?: string }, command: Command) => {
      if ((keyId === undefined) === (restaurant === undefined)) {
        throw new UsageError('Give either --key-id or --restaurant');
      }
      if (keyId !== undefined) {
        await withAdmin(command, (admin) => admin.revokeKey(keyId));
        output.result({ key_id: keyId, revoked: true });
      } else if (restaurant !== undefined) {
        const ids = await withAdmin(command, (admin) => admin.credentials.revokeTenantKeys(restaurant));
        output.result({ restaurant, key_ids: ids, revoked: true });
      }
    });
};

const addStates = (group: Command, output: Output): void => {
  for (const [name, description, state, why] of [
    [
      'quarantine',
      'refuse the key with 403 and a reason until it is reactivated',
      'quarantined',
      'the reason, which refused requests receive',
    ],
    ['reactivate', 'end the quarantine of a key', 'active', 'the reason, which is stored with the key'],
  ] as const) {
    group
      .command(name)
      .description(description)
      .requiredOption('--key-id <id>', 'the key')
      .requiredOption('--reason <text>', why)
      .action(async (options: { keyId: string; reason: string }, command: Command) => {
        await withAdmin(command, ({ credentials }) => credentials[name]('api_key', options.keyId, options.reason));
        output.result({ key_id: options.keyId, state, reason: options.reason });
      });
  }
};
