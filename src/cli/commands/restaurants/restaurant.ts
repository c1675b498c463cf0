import { type Command, Option } from 'commander';
import type { Output } from '../../terminal/output.ts';
import { toNumber } from '../../terminal/to-number.ts';
import { withAdmin } from '../../terminal/with-admin.ts';
import { listRestaurantCommands } from './list-restaurants.ts';

type CreateOptions = { name: string; timeZone?: string; currency?: string; sandbox?: true };

type SetOptions = {
  restaurant: string;
  apiEnabled?: 'on' | 'off';
  confirmation?: 'on' | 'off';
  countdownMinutes?: string;
  pointsPerUnit?: string;
  pointValue?: string;
  signupPoints?: string;
  timeZone?: string;
  apiTimeZone?: string;
};

export const restaurantCommands = (program: Command, output: Output): void => {
  const group = program.command('restaurant').description('restaurants');
  group
    .command('create')
    .description('create a restaurant with one location')
    .requiredOption('--name <name>', 'public name')
    .option('--time-zone <zone>', 'IANA zone, such as Europe/Rome (default UTC)')
    .option('--currency <code>', 'ISO 4217 code (default EUR)')
    .option(
      '--sandbox',
      'a restaurant for trials, for ever: it has credentials of its own, a clock and faults on request',
    )
    .action(async (options: CreateOptions, command: Command) => {
      const { name, timeZone, currency, sandbox = false } = options;
      const made = await withAdmin(command, (admin) =>
        admin.createRestaurant({
          name,
          sandbox,
          ...(timeZone === undefined ? undefined : { timeZone }),
          ...(currency === undefined ? undefined : { currency }),
        }),
      );
      output.result({ ...made, sandbox });
    });
  listRestaurantCommands(group, output);
  setCommand(group, output);
  cellCommand(group, output);
};

const cellCommand = (group: Command, output: Output): void => {
  group
    .command('cell')
    .description('show or change the cell that requests of a restaurant are forwarded to; no data is moved')
    .requiredOption('--restaurant <restuid>', 'id of the restaurant')
    .option(
      '--cell <name>',
      'name of a cell in the route table; `default` is the cell of all restaurants without an entry; without this option the cell is shown',
    )
    .action(async ({ restaurant, cell }: { restaurant: string; cell?: string }, command: Command) => {
      output.result(
        await withAdmin(command, (admin) =>
          cell === undefined ? admin.showCell(restaurant) : admin.setCell(restaurant, cell),
        ),
      );
    });
};

const onOff = (flags: string, description: string): Option => new Option(flags, description).choices(['on', 'off']);

const setCommand = (group: Command, output: Output): void => {
  group
    .command('set')
    .description('change settings of a restaurant; options that are not given keep their value')
    .requiredOption('--restaurant <restuid>', 'id of the restaurant')
    .addOption(onOff('--api-enabled <on|off>', 'off: every operation answers API_DISABLED'))
    .addOption(onOff('--confirmation <on|off>', 'off: new orders are confirmed at once'))
    .option('--countdown-minutes <minutes>', '0 to 120 until an unconfirmed order times out; 0: never')
    .option('--points-per-unit <points>', '0 to 1000 points that a currency unit earns; 0: none')
    .option('--point-value <amount>', '0.0001 to 1000 currency units that a point is worth, or none')
    .option('--signup-points <points>', 'points for signing up')
    .option('--time-zone <zone>', 'IANA zone; locations and the API zone follow if they had the previous one')
    .option('--api-time-zone <zone>', 'IANA zone of legacy dates and date filters')
    .action(async (options: SetOptions, command: Command) => {
      const { restaurant, apiEnabled, confirmation, countdownMinutes, pointsPerUnit, pointValue, signupPoints } =
        options;
      const { timeZone, apiTimeZone } = options;
      // An empty value may be an unset variable of a script, so it is refused like any other wrong value.
      const settings = {
        ...(apiEnabled !== undefined && { apiEnabled: apiEnabled === 'on' }),
        ...(confirmation !== undefined && { confirmationRequired: confirmation === 'on' }),
        ...(countdownMinutes !== undefined && {
          countdownMinutes: toNumber('--countdown-minutes', countdownMinutes),
        }),
        ...(pointsPerUnit !== undefined && { pointsPerUnit: toNumber('--points-per-unit', pointsPerUnit) }),
        ...(pointValue !== undefined && {
          pointValue: pointValue === 'none' ? null : toNumber('--point-value', pointValue),
        }),
        ...(signupPoints !== undefined && { signupPoints: toNumber('--signup-points', signupPoints) }),
        ...(timeZone !== undefined && { timeZone }),
        ...(apiTimeZone !== undefined && { apiTimeZone }),
      };
      output.result(await withAdmin(command, (admin) => admin.setRestaurant(restaurant, settings)));
    });
};
