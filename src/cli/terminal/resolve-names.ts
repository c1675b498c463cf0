/** Names in place of ids in the options of a command: the name of a restaurant or of a client, where one alone has it. */
import type { Command } from 'commander';
import type { Admin } from '#src/app/admin/admin.ts';
import { UsageError } from './output.ts';
import { withAdmin } from './with-admin.ts';

type Find = (admin: Admin, text: string) => Promise<readonly string[]>;

/** Option -> prefix of new ids, which is no part of a name, and the ids that a text may mean. */
const named: Readonly<Record<string, { prefix: string; what: string; find: Find }>> = {
  restaurant: { prefix: 'rst_', what: 'restaurant', find: (admin, text) => admin.restaurantsNamed(text) },
  clientId: { prefix: 'opc_', what: 'client', find: (admin, text) => admin.clientsNamed(text) },
};

/** Commands of integrators, whose server resolves nothing. */
const remote: ReadonlySet<string> = new Set(['login', 'listen', 'replay']);

/** `requests` without an id is answered by the server of a login. */
const asksForOwn = (command: Command): boolean =>
  command.name() === 'requests' && command.opts().clientId === undefined && command.opts().key === undefined;

/**
 * Runs before each command. The store is opened only for a text that does not begin like an id; an id without the prefix is
 * found by itself, and an unknown text is left to the command, which says that it does not exist.
 */
export const resolveNames = async (command: Command): Promise<void> => {
  if (
    remote.has(command.name()) ||
    (command.name() === 'trigger' && command.parent?.name() !== 'sandbox') ||
    asksForOwn(command)
  )
    return;
  for (const [option, { prefix, what, find }] of Object.entries(named)) {
    const value: unknown = command.getOptionValue(option);
    const texts = typeof value === 'string' ? [value] : Array.isArray(value) ? (value as string[]) : [];
    if (texts.every((text) => text.startsWith(prefix))) continue;
    const ids = await withAdmin(command, async (admin) => {
      const found: string[] = [];
      for (const text of texts)
        found.push(await oneOf(what, text, text.startsWith(prefix) ? [] : await find(admin, text)));
      return found;
    });
    command.setOptionValue(option, typeof value === 'string' ? ids[0] : ids);
  }
};

const oneOf = async (what: string, text: string, ids: readonly string[]): Promise<string> => {
  if (ids.length > 1)
    throw new UsageError(`several of them are named ${text}; give the id of the ${what}: ${ids.join(', ')}`);
  return ids[0] ?? text;
};
