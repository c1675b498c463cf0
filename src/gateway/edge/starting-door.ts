/** Answers the public port until the gateway is ready: 503 for every request, in the dialect of its caller. */
import { strictTransportOf } from '../answer/security-headers.ts';
import type { WriteAnswer } from '../answer/write-answer.ts';
import { stillStarting } from '../model/faults.ts';
import { introspectionPath, revocationPath } from '../oauth/documents.ts';
import { errorAnswer, temporarilyUnavailable } from '../oauth/oauth-answers.ts';
import { tokenPath } from '../oauth/token-issuer.ts';
import type { Exchange } from '../request/exchange.ts';
import { type BareDoorDeps, createBareDoor } from './bare-door.ts';
import type { DoorHandlers } from './front.ts';

const oauthPaths: ReadonlySet<string> = new Set([tokenPath, revocationPath, introspectionPath]);

export const createStartingDoor = (deps: BareDoorDeps): DoorHandlers =>
  createBareDoor(deps, {
    strictTransport: strictTransportOf(deps.origin, deps.settings),
    answer: (exchange, write) => {
      if (!oauthPaths.has(exchange.path)) throw stillStarting();
      refuseOAuth(deps.origin, exchange, write);
    },
    refusal: stillStarting,
  });

const refuseOAuth = (origin: string, exchange: Exchange, write: WriteAnswer): void => {
  const { status, headers, body } = errorAnswer(temporarilyUnavailable(), origin, exchange.requestId);
  exchange.refusal = 'OVERLOADED';
  const all = ['content-type', 'application/json; charset=utf-8', 'cache-control', 'no-store', 'pragma', 'no-cache'];
  for (const [name, value] of Object.entries(headers)) all.push(name, value);
  write(exchange, { status, headers: all, body: JSON.stringify(body) });
};
