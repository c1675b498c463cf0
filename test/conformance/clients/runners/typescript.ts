/** Runs the steps of a scenario with the client for TypeScript. */
import { createInterface } from 'node:readline';
import {
  ApiError,
  type CallOptions,
  Orderpass,
  OrderpassError,
  TransportError,
  verifyWebhook,
  WebhookError,
  type WebhookEvent,
} from '../../../../src/clients/typescript/src/index.ts';

type Step = {
  id: number;
  do: string;
  client: string;
  operation: string;
  arguments: object;
  options?: Record<string, never>;
  limit: number;
  times: number;
  secrets: string[];
  headers: Record<string, string>;
  body: string;
  now?: number;
};

const clients = new Map<string, Orderpass>();

const open = (options: Record<string, never> = {}): Orderpass => {
  const { backoffSeconds, retryAfterMaxSeconds, timeoutSeconds, ...others } = options as Record<string, unknown>;
  const ms = (name: string, seconds: unknown) => (seconds === undefined ? {} : { [name]: Number(seconds) * 1000 });
  return new Orderpass({
    ...(others as { url: string; clientId: string; clientSecret: string }),
    ...ms('backoffMs', backoffSeconds),
    ...ms('retryAfterMaxMs', retryAfterMaxSeconds),
    ...ms('timeoutMs', timeoutSeconds),
  });
};

type Method = (request: object, options: CallOptions) => unknown;

const methodOf = ({ client, operation }: Step): Method => {
  const [group = '', name = ''] = operation.split('.');
  const found = (clients.get(client) as unknown as Record<string, Record<string, Method>>)[group];
  if (found === undefined || found[name] === undefined) throw new Error(`no operation ${operation}`);
  return found[name].bind(found);
};

/** The compiler knows the members of each event from its type. */
const entityOf = (event: WebhookEvent): string => {
  switch (event.event) {
    case 'customer.changed':
      return event.customer.uid;
    case 'loyaltylog.created':
      return event.loyaltylog.uid;
    case 'menu.changed':
      return String(event.menu.version);
    case 'webhook.test':
    case 'webhook.digest':
      return '';
    default:
      return event.order.uid;
  }
};

/** Of a new order; null in a body that was too long. */
const linesOf = (event: WebhookEvent): number | null =>
  event.event === 'order.new' ? (event.order.details?.length ?? null) : null;

const steps: Readonly<Record<string, (step: Step) => Promise<object>>> = {
  open: async ({ client, options }) => {
    clients.set(client, open(options));
    return {};
  },
  call: async (step) => {
    let info: unknown;
    const { timeoutSeconds, ...others } = (step.options ?? {}) as Record<string, unknown>;
    const timeout = timeoutSeconds === undefined ? {} : { timeoutMs: Number(timeoutSeconds) * 1000 };
    const onAnswer = (given: unknown): void => {
      info = given;
    };
    const value = await methodOf(step)(step.arguments, { ...others, ...timeout, onAnswer });
    return { value: value ?? null, info };
  },
  iterate: async (step) => {
    const items: unknown[] = [];
    for await (const item of methodOf(step)(step.arguments, {}) as AsyncIterable<unknown>) {
      items.push(item);
      if (items.length === step.limit) break;
    }
    return { value: items };
  },
  parallel: async (step) => ({
    value: await Promise.all(Array.from({ length: step.times }, () => methodOf(step)(step.arguments, {}))),
  }),
  verify: async ({ secrets, headers, body, now }) => {
    const event = await verifyWebhook({ secret: secrets, headers, body, ...(now === undefined ? {} : { now }) });
    const isTest = event.test === true;
    return { value: { event: event.event, entity: entityOf(event), lines: linesOf(event), isTest } };
  },
};

const describeError = (error: unknown): object => {
  const last = error instanceof Error && error.cause instanceof OrderpassError ? describeError(error.cause) : null;
  if (error instanceof ApiError) {
    const { code, status, requestId, missingScopes, errors, retryAfter = null } = error;
    return { kind: 'api', code, status, requestId, missingScopes, errors, retryAfter, last };
  }
  const kind = error instanceof TransportError ? 'transport' : error instanceof WebhookError ? 'webhook' : 'other';
  return { kind, message: String(error), last };
};

for await (const line of createInterface({ input: process.stdin })) {
  const step = JSON.parse(line) as Step;
  const run = steps[step.do] ?? (() => Promise.reject(new Error(`no step ${step.do}`)));
  const answer = await run(step).catch((error: unknown) => ({ error: describeError(error) }));
  process.stdout.write(`${JSON.stringify({ ...answer, id: step.id })}\n`);
}
