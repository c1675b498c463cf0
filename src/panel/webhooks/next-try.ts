/** The time of the next attempt as text. */
import { type Html, html } from '../page/html.ts';
import type { View } from '../page/page.ts';
import type { NextTry } from '../ports/restaurant.ts';
import { time } from '../view/time.ts';

/** `style` applies to a planned time. */
export const nextTry = ({ texts }: View, next: NextTry, style: 'moment' | 'relative' = 'relative'): Html =>
  next.kind === 'planned' ? time(next.at, style) : html`${texts.restaurant.deliveries.nextTries[next.kind]}`;
