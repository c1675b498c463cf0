/** Commands on the limits of one client or key, and on the networks that it may be used from. */
import type { Command } from 'commander';
import type { Admin } from '#src/app/admin/admin.ts';
import { limitNames, type OwnLimits } from '#src/app/admin/terms.ts';
import { type Output, UsageError } from '../../terminal/output.ts';
import { withAdmin } from '../../terminal/with-admin.ts';

type Kind = 'client' | 'key';

type LimitsOptions = { [Name in keyof OwnLimits]?: number | 'none' } & {
  clear?: boolean;
  clientId?: string;
  keyId?: string;
};
type AddressOptions = { allowIp?: string[]; any?: boolean; clientId?: string; keyId?: string };

const limitTexts: Readonly<Record<keyof OwnLimits, string>> = {
  minute: 'units in 60 s, instead of the default',
  burst: 'units in 1 s, instead of the default',
  day: 'units in a day (UTC)',
  month: 'units in a month (UTC)',
  concurrency: 'requests at the same time',
};

/** Commander makes an empty text of null, so `none` stays a word here. */
const limit = (text: string): number | 'none' => {
  if (text === 'none') return text;
  if (!/^[1-9]\d{0,12}$/.test(text)) throw new UsageError('A limit is a whole number from 1 on, or none');
  return Number(text);
};

/** Repeated options add to each other. */
export const networks = (text: string, earlier: string[] | undefined): string[] => [...(earlier ?? []), text];

const idOption: Readonly<Record<Kind, string>> = { client: '--client-id <id>', key: '--key-id <id>' };

/** `kind`: of the group's credentials. */
export const limitCommands = (group: Command, output: Output, kind: Kind): void => {
  const limits = group
    .command('limits')
    .argument('[id]', `the ${kind}; the same as ${idOption[kind].split(' ')[0]}`)
    .description(`set limits of one ${kind} beside the defaults, or show them; every gateway follows within a second`)
    .option(idOption[kind], `the ${kind}`);
  for (const name of limitNames) limits.option(`--${name} <number|none>`, limitTexts[name], limit);
  limits
    .option('--clear', 'remove every limit of its own')
    .action(async (id: string | undefined, options: LimitsOptions, command: Command) => {
      const of = readId(kind, id, options);
      const wanted = limitNames.filter((name) => options[name] !== undefined);
      if (options.clear === true && wanted.length > 0) throw new UsageError('Give either --clear or single limits');
      const wantedOf = (name: keyof OwnLimits) => (options[name] === 'none' ? null : options[name]);
      const change = Object.fromEntries(
        limitNames.map((name) => [name, options.clear === true ? null : wantedOf(name)]),
      );
      const isChange = options.clear === true || wanted.length > 0;
      const now = await withAdmin(command, ({ credentials, readBounds }) =>
        isChange ? credentials.setLimits(kind, of, change) : readBounds(kind, of).then((bounds) => bounds.limits),
      );
      const shown = Object.fromEntries(limitNames.map((name) => [name, now[name] ?? null]));
      output.result({ [`${kind}_id`]: of, ...shown }, 'null: the default of the gateway, or no limit.');
    });
  group
    .command('allow-ip')
    .argument('[id]', `the ${kind}; the same as ${idOption[kind].split(' ')[0]}`)
    .description(`set the networks that one ${kind} may be used from, or show them; calls from elsewhere get 403`)
    .option(idOption[kind], `the ${kind}`)
    .option('--allow-ip <cidr...>', 'address or network (192.0.2.0/24, 2001:db8::/32); replaces the list', networks)
    .option('--any', 'allow every address')
    .action(async (id: string | undefined, options: AddressOptions, command: Command) => {
      const of = readId(kind, id, options);
      const { allowIp, any } = options;
      if (any === true && allowIp !== undefined) throw new UsageError('Give either --allow-ip or --any');
      const now = await withAdmin(command, (admin) => applyNetworks(admin, kind, of, any === true ? null : allowIp));
      output.result({ [`${kind}_id`]: of, allow_ip: now }, 'null: every address.');
    });
};

/** `wanted` undefined: only reads. */
const applyNetworks = async (
  { credentials, readBounds }: Admin,
  kind: Kind,
  id: string,
  wanted: readonly string[] | null | undefined,
): Promise<readonly string[] | null> =>
  wanted === undefined ? (await readBounds(kind, id)).allowIp : credentials.setAllowIp(kind, id, wanted);

const readId = (kind: Kind, argument: string | undefined, { clientId, keyId }: AddressOptions): string => {
  const named = kind === 'client' ? clientId : keyId;
  const id = argument ?? named;
  if (id === undefined || (argument !== undefined && named !== undefined && argument !== named))
    throw new UsageError(`Name one ${kind}: its id, or ${idOption[kind].split(' ')[0]}`);
  return id;
};
