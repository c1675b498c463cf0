/** A webhook as the demo receiver stores and shows it. */
export type ReceivedWebhook = {
  received: string;
  webhook_id: string;
  event: string;
  signature: 'valid' | 'not valid';
  body: unknown;
};
