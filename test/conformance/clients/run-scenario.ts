/** Runs the steps of scenario.json through the runner of a language. The form of a step is described there. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { until } from '../../support/until.ts';
import type { Fault } from './fault-proxy.ts';
import type { ClientsHarness } from './harness.ts';
import { fill, matches, partOf } from './match.ts';
import { type Answer, type RunnerCommand, startRunner } from './runner-process.ts';

type Step = {
  title: string;
  do: string;
  expect?: unknown;
  save?: Record<string, string>;
  until?: boolean;
  [name: string]: unknown;
};

const { steps } = JSON.parse(readFileSync(join(import.meta.dirname, 'scenario.json'), 'utf8')) as { steps: Step[] };

const untilMs = 30_000;

/** Throws with the title of the first step whose answer does not fit. Resolves to the number of steps. */
export const runScenario = async (harness: ClientsHarness, command: RunnerCommand): Promise<number> => {
  harness.proxy.reset();
  const runner = startRunner(command);
  const variables: Record<string, unknown> = harness.variables();
  const own = ownSteps(harness);
  try {
    for (const { title, expect, save, until: isRepeated, ...step } of steps) {
      const filled = fill(step, variables) as Omit<Step, 'title'>;
      const wanted = fill(expect, variables);
      const attempt = (): Promise<Answer> => own[step.do]?.(filled) ?? runner.send(filled);
      let answer = await attempt();
      const fits = (): boolean => (wanted === undefined ? answer.error === undefined : matches(answer, wanted));
      if (isRepeated === true && !fits())
        await until(async () => {
          // A new secret is known within a second, and ten failed authentications in a minute are too many (interface 9.2).
          await setTimeout(300);
          answer = await attempt();
          return fits();
        }, untilMs).catch(() => undefined);
      if (!fits())
        throw new Error(
          `"${title}" answered ${JSON.stringify(answer)}\nexpected ${JSON.stringify(wanted ?? 'no error')}`,
        );
      for (const [name, path] of Object.entries(save ?? {})) variables[name] = partOf(answer, path);
    }
  } finally {
    await runner.close();
  }
  return steps.length;
};

type OwnStep = (step: Record<string, unknown>) => Promise<Answer>;

/** Steps that need no client. */
const ownSteps = ({ command, proxy, receiver }: ClientsHarness): Readonly<Record<string, OwnStep>> => ({
  command: async ({ arguments: args }) => ({ value: await command(args as string[]) }),
  fault: async (step) => {
    proxy.take(String(step.path));
    proxy.add(step as unknown as Fault);
    return {};
  },
  requests: async ({ path }) => {
    const seen = proxy.take(String(path));
    const different = (values: (string | undefined)[]): number =>
      new Set(values.filter((value) => value !== undefined)).size;
    return {
      value: {
        count: seen.length,
        keys: different(seen.map(({ key }) => key)),
        queries: seen.map(({ query }) => query),
        authorizations: different(seen.map(({ authorization }) => authorization)),
      },
    };
  },
  receive: async ({ match }) => {
    const find = () =>
      receiver.received
        .map(({ headers, body }) => ({ headers, body, event: JSON.parse(body) as unknown }))
        .find(({ event }) => matches(event, match));
    await until(() => find() !== undefined);
    return { value: find() };
  },
});
