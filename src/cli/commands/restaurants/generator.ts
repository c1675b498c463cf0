import type { Command } from 'commander';
import type { Output } from '../../terminal/output.ts';
import { toNumber } from '../../terminal/to-number.ts';
import { withAdmin } from '../../terminal/with-admin.ts';

type CreateOptions = {
  restaurant: string;
  gencode: string;
  discountPerc: string;
  quantity?: string;
  orderMin?: string;
  validFrom?: string;
  validTo?: string;
  validDays?: string;
  validWeekdays?: string;
  points?: string;
};

export const generatorCommands = (program: Command, output: Output): void => {
  const group = program.command('generator').description('generators of coupons, for coupon/generate');
  group
    .command('create')
    .description('create a generator: the terms of all coupons created from it')
    .requiredOption('--restaurant <restuid>', 'id of the restaurant')
    .requiredOption('--gencode <code>', 'code that coupon/generate names it by')
    .requiredOption('--discount-perc <percent>', '0 to 100, at most 2 decimals')
    .option('--quantity <uses>', 'uses of each coupon (default 1)')
    .option('--order-min <amount>', 'smallest order total for a coupon (default 0)')
    .option('--valid-from <day>', 'first day, YYYY-MM-DD')
    .option('--valid-to <day>', 'last day, YYYY-MM-DD')
    .option('--valid-days <days>', 'days for which each coupon is valid from its creation')
    .option('--valid-weekdays <days>', 'days of the week, 0 is Sunday, such as 1,2,3 (default all)')
    .option('--points <points>', 'price of a coupon in points (default 0)')
    .action(async (options: CreateOptions, command: Command) => {
      const optional = {
        ...numbered('quantity', '--quantity', options.quantity),
        ...numbered('orderMin', '--order-min', options.orderMin),
        ...numbered('validDays', '--valid-days', options.validDays),
        ...numbered('points', '--points', options.points),
        ...(options.validFrom === undefined ? undefined : { validFrom: options.validFrom }),
        ...(options.validTo === undefined ? undefined : { validTo: options.validTo }),
        ...(options.validWeekdays === undefined
          ? undefined
          : { validWeekdays: options.validWeekdays.split(',').map((day) => toNumber('--valid-weekdays', day)) }),
      };
      const made = await withAdmin(command, (admin) =>
        admin.createGenerator(options.restaurant, {
          gencode: options.gencode,
          discountPerc: toNumber('--discount-perc', options.discountPerc),
          ...optional,
        }),
      );
      output.result(made);
    });
};

const numbered = <N extends string>(name: N, option: string, text: string | undefined): { [key in N]?: number } =>
  (text === undefined ? {} : { [name]: toNumber(option, text) }) as { [key in N]?: number };
