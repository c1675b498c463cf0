import type { Command } from 'commander';
import { type Output, UsageError } from '../../terminal/output.ts';
import { withAdmin } from '../../terminal/with-admin.ts';

type ListOptions = { search: string; before?: string; limit: string };

const limitMax = 200;

export const listRestaurantCommands = (group: Command, output: Output): void => {
  group
    .command('list')
    .description('restaurants, newest first, and after all of them the sandboxes')
    .option('--search <text>', 'start of an id, or starts of words of the name', '')
    .option('--before <restuid>', 'the page after this one')
    .option('--limit <n>', `restaurants to show, up to ${limitMax}`, '50')
    .action(async ({ search, before, limit: text }: ListOptions, command: Command) => {
      const limit = Number(text);
      if (!Number.isInteger(limit) || limit < 1 || limit > limitMax)
        throw new UsageError(`--limit is 1 to ${limitMax}`);
      const { restaurants, next_before } = await withAdmin(command, (admin) =>
        admin.listRestaurants({ search, before, limit }),
      );
      if (output.json) return output.result({ restaurants, next_before });
      output.list('restaurants', restaurants);
      if (next_before !== null) output.line(`\nMore: --before ${next_before}`);
    });
  group
    .command('show')
    .description('one restaurant with its settings')
    .requiredOption('--restaurant <restuid>', 'id or name of the restaurant')
    .action(async ({ restaurant }: { restaurant: string }, command: Command) => {
      output.result(await withAdmin(command, (admin) => admin.showRestaurant(restaurant)));
    });
};
