/** Pages and actions about the webhooks of a restaurant: endpoints and deliveries. */
import type { Page } from '../page/page.ts';
import { deliveryPages } from './delivery-pages.ts';
import { endpointPages } from './endpoint-pages.ts';

export const webhookPages: readonly Page[] = [...endpointPages, ...deliveryPages];
