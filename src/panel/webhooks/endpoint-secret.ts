/** Finds the endpoint of a path, and shows a new secret once. */
import { type Answer, notFound, page } from '../page/answer.ts';
import type { PageHandler, View } from '../page/page.ts';
import type { WebhookEndpoint } from '../ports/restaurant.ts';
import { secretOnce } from '../view/secret-once.ts';
import { pathOfEndpoint } from './endpoint-parts.ts';

/** Runs `use` with the endpoint of the path; an endpoint of another restaurant is not found. */
export const withEndpoint =
  (use: (view: View, restuid: string, endpoint: WebhookEndpoint) => ReturnType<PageHandler>): PageHandler =>
  async (view) => {
    const { restaurant = '', endpoint: uid = '' } = view.params;
    const endpoint = await view.ports.restaurant.endpoints.find(restaurant, uid);
    return endpoint === undefined ? notFound() : use(view, restaurant, endpoint);
  };

export const shownEndpointSecret = (view: View, restuid: string, uid: string, secret: string): Answer => {
  const t = view.texts.restaurant.webhooks;
  return page({
    title: t.secretTitle,
    body: secretOnce(view, {
      values: [{ id: 'secret-value', label: t.secretFor, value: secret }],
      text: t.secretText,
      done: { path: pathOfEndpoint(restuid, uid), label: t.secretSaved },
    }),
  });
};
