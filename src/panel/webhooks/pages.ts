/** Pages and actions about the webhooks of a restaurant: its endpoints, and what was delivered to them. */
import type { Page } from '../page/page.ts';
import { deliveryPages } from './delivery-pages.ts';
import { endpointPages } from './endpoint-pages.ts';

export const webhookPages: readonly Page[] = [...endpointPages, ...deliveryPages];
