import { basename } from 'node:path';
import { Argument, type Command } from 'commander';
import type { PlayedStep } from '#src/app/sandbox/play-script.ts';
import { durationRule, readDuration } from '#src/app/sandbox/read-duration.ts';
import { scriptNames } from '#src/app/sandbox/script-names.ts';
import { triggerableEvents } from '#src/app/sandbox/triggerable-events.ts';
import { abortOnSignal } from '../../terminal/long-command.ts';
import { type Output, UsageError } from '../../terminal/output.ts';
import { toNumber } from '../../terminal/to-number.ts';
import { timeWithOffset } from '../../terminal/to-time.ts';
import { withAdmin } from '../../terminal/with-admin.ts';

export const sandboxCommands = (program: Command, output: Output): void => {
  const group = program.command('sandbox').description('restaurants for trials (restaurant create --sandbox)');
  clockCommand(group, output);
  playCommand(group, output);
  triggerCommand(group, output);
};

const restaurantOption = ['--restaurant <restuid>', 'the sandbox; a real restaurant is refused'] as const;

const actions = ['show', 'set', 'advance', 'reset'] as const;
type Action = (typeof actions)[number];

const clockCommand = (group: Command, output: Output): void => {
  group
    .command('clock')
    .description('the clock of a sandbox: countdowns, opening hours, coupons and dates follow it')
    .addArgument(new Argument('<action>', 'what to do with it; reset gives it the real time again').choices(actions))
    .argument('[value]', `for set: a time with offset, 2026-03-01T19:30:00+01:00; for advance: ${durationRule}`)
    .requiredOption(...restaurantOption)
    .action(async (action: Action, value: string | undefined, options: { restaurant: string }, command: Command) => {
      const move = moveOf(action, value);
      const { restuid, now, aheadMs } = await withAdmin(command, ({ sandbox }) =>
        move === undefined ? sandbox.showClock(options.restaurant) : sandbox.moveClock(options.restaurant, move),
      );
      output.result({ restuid, now: now.toISOString(), ahead_seconds: Math.round(aheadMs / 1000) });
    });
};

const moveOf = (action: Action, value: string | undefined) => {
  if (action === 'set') return { to: timeWithOffset('set needs', value ?? '') };
  if (action === 'advance') {
    const byMs = readDuration(value ?? '');
    if (byMs === undefined || byMs === 0) throw new UsageError(`advance needs ${durationRule}`);
    return { byMs };
  }
  if (value !== undefined) throw new UsageError(`${action} takes no value`);
  return action === 'reset' ? { reset: true as const } : undefined;
};

type PlayFlags = { restaurant: string; speed: string; seed: string };

const playCommand = (group: Command, output: Output): void => {
  group
    .command('play')
    .description('play a script of orders in a sandbox; its clock follows the times of the script')
    .argument('<script>', `${scriptNames.join(', ')}, or a file in JSON or YAML`)
    .requiredOption(...restaurantOption)
    .option('--speed <n>', '1 to 10000 times as fast as the script says', '60')
    .option('--seed <n>', 'the same seed chooses the same products again', '1')
    .addHelpText(
      'after',
      '\nPrints a line per step, or one JSON object at the end. Exit code 1 after an answer that the script does not expect, and after Ctrl-C.',
    )
    .action(async (source: string, { restaurant, ...flags }: PlayFlags, command: Command) => {
      const [speed, seed] = [toNumber('--speed', flags.speed), toNumber('--seed', flags.seed)];
      if (speed < 1 || speed > 10_000) throw new UsageError('--speed is 1 to 10000');
      if (!Number.isInteger(seed) || seed < 0 || seed > 0xffffffff)
        throw new UsageError('--seed is a whole number from 0 to 4294967295');
      const { readScript } = await import('#src/app/sandbox/script.ts');
      const script = readScript(source);
      const onStep = (step: PlayedStep, count: number): void => {
        if (!output.json) output.line(lineOf(step, count));
      };
      const played = await withAdmin(command, ({ sandbox }) =>
        sandbox.play({
          restuid: restaurant,
          name: basename(source),
          script,
          seed,
          speed,
          signal: abortOnSignal(),
          onStep,
        }),
      );
      const { steps, unexpected, stopped } = played;
      if (unexpected > 0 || stopped) output.fail();
      const done = { script: source, restuid: restaurant, seed, played: steps.length, unexpected, stopped };
      output.result(output.json ? { ...done, steps } : done);
    });
};

const lineOf = ({ step, at, name, uid, error, expected, ...played }: PlayedStep, count: number): string =>
  [`${step}/${count}`, at, played.do, name, uid ?? error, ...(expected ? [] : ['UNEXPECTED'])].join('  ');

const triggerCommand = (group: Command, output: Output): void => {
  group
    .command('trigger')
    .description(
      'make a real example of an event in a sandbox, by what causes it; order.timeout moves its clock by 3 hours',
    )
    .argument('<event>', triggerableEvents.join(', '))
    .requiredOption(...restaurantOption)
    .action(async (event: string, { restaurant }: { restaurant: string }, command: Command) => {
      const { uid } = await withAdmin(command, ({ sandbox }) => sandbox.trigger({ restuid: restaurant, event }));
      output.result({ event, restuid: restaurant, uid });
    });
};
