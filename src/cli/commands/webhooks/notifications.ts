import { type Command, Option } from 'commander';
import { eventKinds } from '#src/app/admin/terms.ts';
import { type Output, UsageError } from '../../terminal/output.ts';
import { withAdmin } from '../../terminal/with-admin.ts';

type SetOptions = { restaurant: string } & Record<string, string | undefined>;

export const notificationsCommands = (program: Command, output: Output): void => {
  const group = program.command('notifications').description('kinds of events that a restaurant sends');
  const set = group
    .command('set')
    .description('switch kinds of events on or off; kinds that are not given keep their state')
    .requiredOption('--restaurant <restuid>', 'the restaurant');
  for (const kind of eventKinds)
    set.addOption(new Option(`--${kind} <state>`, `${kind} events`).choices(['on', 'off']));
  set.action(async (options: SetOptions, command: Command) => {
    const changes: Record<string, boolean> = {};
    for (const kind of eventKinds) if (options[kind] !== undefined) changes[kind] = options[kind] === 'on';
    if (Object.keys(changes).length === 0) {
      throw new UsageError(`Name at least one kind: ${eventKinds.map((kind) => `--${kind} on|off`).join(', ')}`);
    }
    const kinds = await withAdmin(command, (admin) => admin.setNotifications(options.restaurant, changes));
    output.result({ restuid: options.restaurant, kinds_enabled: kinds });
  });
};
