import { type Command, Option } from 'commander';
import type { Admin, LocationTerms } from '#src/app/admin/admin.ts';
import { Fault } from '#src/contract/fault.ts';
import { type JsonFile, readJsonFile } from '../../files/json-file.ts';
import { type Output, UsageError } from '../../terminal/output.ts';
import { toNumber } from '../../terminal/to-number.ts';
import { withAdmin } from '../../terminal/with-admin.ts';

type TermOptions = {
  restaurant: string;
  name?: string;
  code?: string;
  dmethods?: string;
  zones?: string;
  hours?: string;
  points?: string;
  lat?: string;
  lng?: string;
  timeZone?: string;
  hidden?: 'on' | 'off';
};

export const locationCommands = (program: Command, output: Output): void => {
  const group = program.command('location').description('locations of restaurants');
  withTerms(group.command('create').description('add a location to a restaurant'))
    .requiredOption('--name <name>', 'public name')
    .action(async (options: TermOptions & { name: string }, command: Command) => {
      const save = (admin: Admin, terms: LocationTerms) =>
        admin.createLocation(options.restaurant, { ...terms, name: options.name });
      output.result(await saved(options, command, save));
    });
  withTerms(group.command('set').description('change a location; options that are not given keep their value'))
    .option('--name <name>', 'the location; with --location its new name')
    .option('--location <uid>', 'the location by its id')
    .action(async (options: TermOptions & { location?: string }, command: Command) => {
      const { name, location: uid } = options;
      const address = uid !== undefined ? { uid } : name !== undefined ? { name } : undefined;
      if (address === undefined) throw new UsageError('give --name or --location');
      const renamed = uid === undefined || name === undefined ? undefined : { name };
      const save = (admin: Admin, terms: LocationTerms) =>
        admin.setLocation(options.restaurant, address, { ...terms, ...renamed });
      output.result(await saved(options, command, save));
    });
};

const files = `Files (JSON; amounts in currency units; the value none instead of a file takes away what there was):
  --zones   [{"name": "Centre", "radius_kms": 2.5, "fee": 1.5, "order_min": 10},
             {"name": "Hills", "polygon": [[43.9, 11.3], [43.8, 11.3], [43.8, 11.6]], "fee": 3},
             {"name": "Town", "zips": ["50122", "50123"]}]
            The first zone that holds the address counts: radius_kms around the place of the location (--lat, --lng),
            polygon of [lat, lng] corners, or zips for addresses without coordinates. No zones: delivery everywhere.
  --hours   {"monday": [["11:30", "15:00"], ["19:00", "01:00"]], "tuesday": []}
            In the time zone of the location; a day that is not named is closed. none: always open.
  --points  [{"uid": "station", "name": "Station", "full_address": "Piazza 1, Firenze", "fee": 1}] for method 20`;

const withTerms = (command: Command): Command =>
  command
    .requiredOption('--restaurant <restuid>', 'id of the restaurant')
    .option('--code <code>', 'prefix of the order numbers, or none')
    .option(
      '--dmethods <codes>',
      'methods on offer, such as 0,1,0t,20; 0e-<id>=<name> for events, dcf-<id>=<name> for others',
    )
    .option('--zones <file>', 'delivery zones and their fees, or none')
    .option('--hours <file>', 'opening hours, or none')
    .option('--points <file>', 'pickup points, or none')
    .option('--lat <degrees>', 'latitude of the location, or none')
    .option('--lng <degrees>', 'longitude of the location, or none')
    .option('--time-zone <zone>', 'IANA zone')
    .addOption(new Option('--hidden <on|off>', 'on: not shown, takes no orders').choices(['on', 'off']))
    .addHelpText('after', `\n${files}`);

/** Members of the terms that are read from files. */
const inFiles = { zones: 'zones', hours: 'hours', deliverypoints: 'points' } as const;
type InFile = keyof typeof inFiles;

const saved = async (
  options: TermOptions,
  command: Command,
  save: (admin: Admin, terms: LocationTerms) => Promise<Record<string, unknown>>,
): Promise<Record<string, unknown>> => {
  const read = new Map<string, JsonFile>();
  const terms: LocationTerms = { ...termsOf(options) };
  for (const member of Object.keys(inFiles) as InFile[]) {
    const file = options[inFiles[member]];
    if (file === undefined) continue;
    const found = file === 'none' ? undefined : await readJsonFile(file);
    if (found !== undefined) read.set(member, found);
    terms[member] = found === undefined ? (member === 'hours' ? null : []) : (found.value ?? 'null');
  }
  return withAdmin(command, (admin) => save(admin, terms)).catch((error: unknown) => {
    throw error instanceof Fault ? inTheirFiles(error, read) : error;
  });
};

/** A fault in a file names the file and the line, other faults name the option. */
const inTheirFiles = (fault: Fault, read: ReadonlyMap<string, JsonFile>): Fault => {
  const errors = fault.errors?.map((each) => {
    const [member = '', ...path] = each.pointer.replace(/^\//, '').split('/');
    const found = read.get(member);
    const pointer = path.map((part) => `/${part}`).join('');
    if (found !== undefined)
      return { ...each, pointer: `${found.file} line ${found.lineOf(pointer)} ${pointer}`.trim() };
    return { ...each, pointer: optionNames[member] ?? each.pointer };
  });
  return errors === undefined ? fault : new Fault(fault.code, fault.publicText, { errors });
};

const optionNames: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    ['name', 'code', 'dmethods', 'lat', 'lng', 'zones', 'hours'].map((name) => [name, `--${name}`]),
  ),
  timeZone: '--time-zone',
  deliverypoints: '--points',
};

const termsOf = ({ code, dmethods, lat, lng, timeZone, hidden }: TermOptions): LocationTerms => ({
  ...(code !== undefined && { code: code === 'none' ? null : code }),
  ...(dmethods !== undefined && { dmethods: dmethods.split(',').map(dmethodOf) }),
  ...(lat !== undefined && { lat: lat === 'none' ? null : toNumber('--lat', lat) }),
  ...(lng !== undefined && { lng: lng === 'none' ? null : toNumber('--lng', lng) }),
  ...(timeZone !== undefined && { timeZone }),
  ...(hidden !== undefined && { isHidden: hidden === 'on' }),
});

const dmethodOf = (text: string): { code: string; name?: string } => {
  const [code = '', ...name] = text.split('=');
  return name.length === 0 ? { code: code.trim() } : { code: code.trim(), name: name.join('=') };
};
