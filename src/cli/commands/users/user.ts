import { type Command, Option } from 'commander';
import { roleNames } from '#src/app/admin/terms.ts';
import { settingsOf } from '../../terminal/command-settings.ts';
import { type Output, UsageError } from '../../terminal/output.ts';
import { toWire } from '../../terminal/to-wire.ts';
import { withAdmin } from '../../terminal/with-admin.ts';

type CreateOptions = { email: string; role: string; restaurant: string[]; client: string[] };
type SetOptions = { email: string; role?: string; restaurant?: string[]; client?: string[] };

export const userCommands = (program: Command, output: Output): void => {
  const group = program.command('user').description('staff accounts of the panel');
  group
    .command('create')
    .description('create an account; the one-time link sets its password')
    .requiredOption('--email <email>', 'email of the account')
    .addOption(roleOption('what the account is for').makeOptionMandatory())
    .option('--restaurant <restuid...>', 'restaurants of an owner; may be repeated', [])
    .option('--client <id...>', 'API clients of a contact; may be repeated', [])
    .action(async ({ email, role, restaurant, client }: CreateOptions, command: Command) => {
      const given = { email, role, restaurants: restaurant, clients: client };
      const made = await withAdmin(command, (admin) => admin.users.create(given));
      output.result(toWire(made), linkNote);
      await warnOfOrigin(command, output);
    });
  addLink(group, output);
  addSet(group, output);
  addStates(group, output);
  addRemoveTotp(group, output);
  addRemovePasskeys(group, output);
  group
    .command('list')
    .description('accounts, sorted by email')
    .option('--after <email>', 'accounts after this email')
    .option('--limit <n>', `accounts to show, up to ${listLimitMax}`, String(listLimitMax))
    .action(async ({ after, limit: text }: { after?: string; limit: string }, command: Command) => {
      const limit = Number(text);
      if (!Number.isInteger(limit) || limit < 1 || limit > listLimitMax)
        throw new UsageError(`--limit is 1 to ${listLimitMax}`);
      const found = await withAdmin(command, (admin) => admin.users.list(after, limit + 1));
      const users = found.slice(0, limit).map(toWire);
      const next_after = found.length > limit ? (found[limit - 1]?.email ?? null) : null;
      if (output.json) return output.result({ users, next_after });
      output.list('users', users);
      if (next_after !== null) output.line(`\nMore: --after ${next_after}`);
    });
};

const listLimitMax = 100;

const linkNote = 'The link works once, within a day, unless a newer one replaces it. It is shown only now.';

const roleOption = (description: string): Option => new Option('--role <role>', description).choices([...roleNames]);

const addLink = (group: Command, output: Output): void => {
  group
    .command('link')
    .description('create a one-time link that sets the password; the previous link ends')
    .requiredOption('--email <email>', 'email of the account')
    .action(async ({ email }: { email: string }, command: Command) => {
      output.result(toWire(await withAdmin(command, (admin) => admin.users.makeLink(email))), linkNote);
      await warnOfOrigin(command, output);
    });
};

/** A store on a server has gateways elsewhere, whose address the command knows from this setting alone. */
const warnOfOrigin = async (command: Command, output: Output): Promise<void> => {
  const { database_url, origin } = await settingsOf(command);
  if (database_url !== undefined && origin === undefined)
    output.error(
      'ORDERPASS_ORIGIN is not set, so the link names this machine. Set it to the public address of the gateways, and make another one: `user link`.',
    );
};

const addSet = (group: Command, output: Output): void => {
  group
    .command('set')
    .description('change role, restaurants or API clients; options that are not given keep their value')
    .requiredOption('--email <email>', 'email of the account')
    .addOption(roleOption('the new role'))
    .option('--restaurant <restuid...>', 'all restaurants of the owner')
    .option('--client <id...>', 'all API clients of the contact')
    .action(async (options: SetOptions, command: Command) => {
      const { email, role, restaurant, client } = options;
      const given = {
        ...(role && { role }),
        ...(restaurant && { restaurants: restaurant }),
        ...(client && { clients: client }),
      };
      output.result(toWire(await withAdmin(command, (admin) => admin.users.set(email, given))));
    });
};

const addRemoveTotp = (group: Command, output: Output): void => {
  group
    .command('remove-totp')
    .description(
      'remove the second factor of a user who lost the device and the recovery codes; the password alone signs in',
    )
    .requiredOption('--email <email>', 'email of the account')
    .action(async ({ email }: { email: string }, command: Command) => {
      output.result(toWire(await withAdmin(command, (admin) => admin.users.removeTotp(email))));
    });
};

const addRemovePasskeys = (group: Command, output: Output): void => {
  group
    .command('remove-passkeys')
    .description(
      'remove the passkeys of a user who lost them, or whose passkeys belong to a former host name of the panel; ends every session',
    )
    .requiredOption('--email <email>', 'email of the account')
    .action(async ({ email }: { email: string }, command: Command) => {
      output.result(toWire(await withAdmin(command, (admin) => admin.users.removePasskeys(email))));
    });
};

const addStates = (group: Command, output: Output): void => {
  for (const [name, description] of [
    ['disable', 'end every session and the one-time link, and refuse every sign-in to the account'],
    ['enable', 'allow sign-in to the account again; its previous one-time link stays invalid'],
  ] as const) {
    group
      .command(name)
      .description(description)
      .requiredOption('--email <email>', 'email of the account')
      .action(async ({ email }: { email: string }, command: Command) => {
        output.result(toWire(await withAdmin(command, (admin) => admin.users[name](email))));
      });
  }
};
