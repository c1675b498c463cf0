/**
 * Client of the Orderpass interface for Node, browsers, Deno and Bun. It needs fetch and WebCrypto only.
 * Entry: `new Orderpass({ url, clientId, clientSecret })`, and `verifyWebhook` in the receiver of webhooks.
 */
import { Operations } from './operations.ts';
import { type ClientOptions, createTransport } from './transport.ts';

/** A client of one installation. It has one method for each operation, such as `client.orders.get({ uid })`. */
export class Orderpass extends Operations {
  constructor(options: ClientOptions) {
    super(createTransport(options));
  }
}

export type { Credentials } from './credential.ts';
export { ApiError, OrderpassError, TransportError, WebhookError } from './errors.ts';
export * from './operations.ts';
export type { AnswerInfo, CallOptions, ClientOptions } from './transport.ts';
export * from './types.ts';
export { type VerifyOptions, verifyWebhook } from './webhooks.ts';
