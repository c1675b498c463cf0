/** Scripts of `sandbox play`: their form, and the three that come with the program. src/cli/README.md describes it. */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import { Fault } from '#src/contract/fault.ts';
import { foundText, plainIssues, plainTexts } from '#src/platform/files/plain-issues.ts';
import { durationRule, readDuration } from './read-duration.ts';
import { scriptNames } from './script-names.ts';

const name = z.string().regex(/^[a-z0-9-]{1,40}$/, 'must be 1 to 40 small letters, digits and hyphens');

const after = z.string().transform((text, context) => {
  const ms = readDuration(text);
  if (ms !== undefined) return ms;
  context.addIssue({ code: 'custom', message: `must be ${durationRule}` });
  return z.NEVER;
});

/** `after`: since the step before. `expect`: the error code that the answer must have; without it the step must succeed. */
const common = { after, expect: z.string().max(64).optional() };

const step = z.discriminatedUnion('do', [
  z.strictObject({ ...common, do: z.literal('customer'), customer: name }),
  z.strictObject({
    ...common,
    do: z.literal('points'),
    customer: name,
    points: z.int().min(-1_000_000).max(1_000_000),
  }),
  z.strictObject({
    ...common,
    do: z.literal('order'),
    order: name,
    customer: name,
    /** Lines with products that are chosen from the menu. */
    products: z.int().min(1).max(20).default(2),
    /** A line with this product in place of chosen ones. */
    product: z.string().max(64).optional(),
    coupon: z.string().max(64).optional(),
  }),
  z.strictObject({
    ...common,
    do: z.enum(['confirm', 'close', 'cancel']),
    order: name,
    token: z.literal('wrong').optional(),
    reason: z.string().max(500).optional(),
  }),
  /** The next deliveries to each endpoint of the sandbox fail, as if its receiver were broken. */
  z.strictObject({ after, do: z.literal('break-endpoints'), deliveries: z.int().min(1).max(20) }),
]);

const script = z.strictObject({ description: z.string().max(500).optional(), steps: z.array(step).min(1).max(5_000) });

export type Step = z.infer<typeof step>;
export type Script = z.infer<typeof script>;

const bytesMax = 1024 * 1024;

/** `source`: the name of an included script, or a file in JSON or YAML. VALIDATION_ERROR names each mistake with its place. */
export const readScript = (source: string): Script => {
  const known = scriptNames.find((included) => included === source);
  const parsed = script.safeParse(
    contentOf(known === undefined ? source : new URL(`./scripts/${known}.json`, import.meta.url)),
    plainTexts,
  );
  if (!parsed.success) {
    const places = plainIssues(parsed.error)
      .slice(0, 10)
      .map(
        ({ path, message, input }) => `${path.length === 0 ? '' : `${path.join('.')}: `}${message}${foundText(input)}`,
      );
    throw new Fault('VALIDATION_ERROR', `${source} is no script: ${places.join('; ')}`);
  }
  const { steps } = parsed.data;
  const made = new Set<string>();
  for (const [index, one] of steps.entries()) {
    if (one.do === 'order') made.add(one.order);
    else if ('order' in one && !made.has(one.order))
      throw new Fault('VALIDATION_ERROR', `${source} is no script: steps.${index}: no step before makes ${one.order}`);
  }
  return parsed.data;
};

const contentOf = (file: string | URL): unknown => {
  try {
    const text = readFileSync(file, 'utf8');
    if (text.length > bytesMax) throw new Error('it has more than 1 MiB');
    return parse(text, { maxAliasCount: 0 });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new Fault(
      'VALIDATION_ERROR',
      `cannot read ${String(file)}: ${reason}. Name a file, or one of ${scriptNames.join(', ')}`,
    );
  }
};
