/** Names in place of ids in a command: of a restaurant, client, key or endpoint, where one alone has the name. */
import type { Command } from 'commander';
import type { Admin, Candidate } from '#src/app/admin/admin.ts';
import { UsageError } from './output.ts';
import { withAdmin } from './with-admin.ts';

type Kind = 'restaurant' | 'client' | 'key' | 'endpoint';

/** `restaurant`: that of the command, where it names one. */
type Find = (admin: Admin, text: string, restaurant: string | undefined) => Promise<readonly Candidate[]>;

/** The prefix of new ids, which is no part of a name, and what a text may mean. */
const kinds: Readonly<Record<Kind, { prefix: string; find: Find }>> = {
  restaurant: { prefix: 'rst_', find: (admin, text) => admin.restaurantsNamed(text) },
  client: { prefix: 'opc_', find: (admin, text) => admin.clientsNamed(text) },
  key: { prefix: 'opk_', find: (admin, text, restaurant) => admin.keysNamed(text, restaurant) },
  endpoint: {
    prefix: 'whe_',
    find: async (admin, text, restaurant) => (restaurant === undefined ? [] : admin.endpointsNamed(restaurant, text)),
  },
};

/** Whether this machine has no installation, and a login instead. */
type HasOnlyLogin = (command: Command) => Promise<boolean>;

/** Commands of integrators, whose server resolves nothing. `listen` and `replay` take their events from an installation too. */
const isRemote = async (command: Command, hasOnlyLogin: HasOnlyLogin): Promise<boolean> => {
  if (command.name() === 'login') return true;
  if (command.name() === 'trigger') return command.parent?.name() !== 'sandbox';
  if (!['listen', 'replay'].includes(command.name())) return false;
  return command.opts().url !== undefined || (await hasOnlyLogin(command));
};

/** `requests` without an id, or with an address, is answered by another server. */
const asksForOwn = (command: Command): boolean => {
  if (command.name() !== 'requests') return false;
  const { url, clientId, key } = command.opts();
  return url !== undefined || (clientId === undefined && key === undefined);
};

/** What an option names; undefined for an option that is no id of this program. The restaurant comes first: it narrows the others. */
const optionKinds = (command: Command): readonly (readonly [string, Kind])[] => {
  const group = command.parent?.name();
  // The client and the key of an endpoint's login are those of its receiver.
  if (group === 'endpoint' && command.name() === 'auth')
    return [
      ['restaurant', 'restaurant'],
      ['endpoint', 'endpoint'],
    ];
  return [
    ['restaurant', 'restaurant'],
    ['clientId', 'client'],
    // Elsewhere it is the kid of a public key.
    ...(group === 'key' ? [['keyId', 'key'] as const] : []),
    ...(['requests', 'usage'].includes(command.name()) ? [['key', 'key'] as const] : []),
    ...(command.name() === 'usage' || ['audit', 'user'].includes(group ?? '') ? [['client', 'client'] as const] : []),
    ['endpoint', 'endpoint'],
  ];
};

/** The arguments that are ids of a client or key: `[id]` of its group, and `<client-id>`. */
const argumentKind = (command: Command, name: string): Kind | undefined => {
  const group = command.parent?.name();
  if (name === 'client-id') return 'client';
  return name === 'id' && (group === 'client' || group === 'key') ? group : undefined;
};

/**
 * Runs before each command. The store is opened only for a text that does not begin like an id; an id without the prefix is
 * found by itself, and an unknown text is left to the command, which says that it does not exist.
 */
export const resolveNames = async (command: Command, hasOnlyLogin: HasOnlyLogin): Promise<void> => {
  if (asksForOwn(command) || (await isRemote(command, hasOnlyLogin))) return;
  for (const [option, kind] of optionKinds(command)) {
    const value: unknown = command.getOptionValue(option);
    const texts = typeof value === 'string' ? [value] : Array.isArray(value) ? (value as string[]) : [];
    const ids = await idsOf(command, kind, texts);
    if (ids !== undefined) command.setOptionValue(option, typeof value === 'string' ? ids[0] : ids);
  }
  for (const [index, argument] of command.registeredArguments.entries()) {
    const kind = argumentKind(command, argument.name());
    const value: unknown = command.processedArgs[index];
    if (kind === undefined || typeof value !== 'string') continue;
    const ids = await idsOf(command, kind, [value]);
    if (ids !== undefined) command.processedArgs[index] = ids[0];
  }
};

/** Undefined where all texts are ids. */
const idsOf = async (command: Command, kind: Kind, texts: readonly string[]): Promise<string[] | undefined> => {
  const { prefix, find } = kinds[kind];
  if (texts.every((text) => text.startsWith(prefix))) return undefined;
  const named: unknown = command.getOptionValue('restaurant');
  const restaurant = typeof named === 'string' ? named : undefined;
  return withAdmin(command, async (admin) => {
    const ids: string[] = [];
    for (const text of texts)
      ids.push(oneOf(kind, text, text.startsWith(prefix) ? [] : await find(admin, text, restaurant)));
    return ids;
  });
};

const shownMax = 20;

const oneOf = (kind: Kind, text: string, found: readonly Candidate[]): string => {
  if (found.length > 1) {
    const shown = found.slice(0, shownMax).map(({ id, about }) => `${id} (${about})`);
    const more = found.length > shownMax ? ` and ${found.length - shownMax} more` : '';
    throw new UsageError(`several of them are named ${text}; give the id of the ${kind}: ${shown.join(', ')}${more}`);
  }
  return found[0]?.id ?? text;
};
