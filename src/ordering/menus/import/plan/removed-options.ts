/**
 * Removed options and values are kept, so that they have their uids when they are sent again. What was removed longest ago is
 * dropped, because a document must not grow without limit. Pure.
 */
import type { Option, OptionValue } from '../../menu/menu.ts';

/** Removed options of a parent, and removed values of an option. */
const removedMax = 500;

/** Removed values of a category or product, those of removed options included; an option without values counts as one. */
const removedValuesMax = 1_000;

/** Newly removed elements come first, so that the ones removed longest ago are dropped first. */
export const asRemoved = <T extends { removed?: true }>(elements: readonly T[]): T[] =>
  [
    ...elements.filter((element) => element.removed !== true).map((element): T => ({ ...element, removed: true })),
    ...elements.filter((element) => element.removed === true),
  ].slice(0, removedMax);

/** The options of a category or product without the removed ones that are too many. `before`: those that are stored. */
export const dropRemoved = (options: readonly Option[], before: readonly Option[]): Option[] => {
  if (countRemoved(options) <= removedValuesMax) return [...options];
  const earlier = new Set<string>();
  for (const option of before) {
    if (option.removed === true) earlier.add(option.uid);
    for (const value of option.option_values) if (value.removed === true) earlier.add(value.uid);
  }
  const kept = new Set<Option | OptionValue>();
  let room = removedValuesMax;
  const keep = (element: Option | OptionValue, size: number): void => {
    const hasRoom = size <= room;
    if (hasRoom) kept.add(element);
    // After the first one without room, those that were removed before it have none either.
    room = hasRoom ? room - size : 0;
  };
  for (const isEarlier of [false, true])
    for (const option of options) {
      if (option.removed === true && earlier.has(option.uid) === isEarlier) keep(option, sizeOf(option));
      for (const value of option.removed === true ? [] : option.option_values)
        if (value.removed === true && earlier.has(value.uid) === isEarlier) keep(value, 1);
    }
  return options
    .filter((option) => option.removed !== true || kept.has(option))
    .map((option) =>
      option.removed === true
        ? option
        : {
            ...option,
            option_values: option.option_values.filter((value) => value.removed !== true || kept.has(value)),
          },
    );
};

const sizeOf = ({ option_values }: Option): number => Math.max(option_values.length, 1);

const countRemoved = (options: readonly Option[]): number =>
  options.reduce(
    (sum, option) =>
      sum +
      (option.removed === true
        ? sizeOf(option)
        : option.option_values.filter((value) => value.removed === true).length),
    0,
  );
