/** When something is tried next, in words. */
import { type Html, html } from '../frame/html.ts';
import type { View } from '../frame/page.ts';
import { time } from '../frame/time.ts';
import type { NextTry } from '../ports/restaurant.ts';

/** `style`: of a time that is still to come. */
export const nextTry = ({ texts }: View, next: NextTry, style: 'moment' | 'relative' = 'relative'): Html =>
  next.kind === 'planned' ? time(next.at, style) : html`${texts.restaurant.deliveries.nextTries[next.kind]}`;
