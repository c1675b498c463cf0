/** Runs in the page: what a person would see go wrong with its layout. Answers with a list of sentences. */
(() => {
  const wrong = [];
  const name = (element) => {
    const text = (element.getAttribute('aria-label') ?? element.name ?? '') || element.textContent.trim().slice(0, 30);
    return `<${element.localName}> “${text}”`;
  };
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) {
    const wide = [...document.querySelectorAll('body *')].filter(
      (one) => one.getBoundingClientRect().right > root.clientWidth + 1,
    );
    wrong.push(`scrolls sideways by ${root.scrollWidth - root.clientWidth} px: ${wide.slice(-1).map(name)}`);
  }
  const controls = [
    ...document.querySelectorAll('button, a.button, summary.button, input:not([type=hidden]), select, textarea'),
  ].filter((one) => one.checkVisibility() && one.getBoundingClientRect().width > 1);
  const boxes = controls.map((one) => one.getBoundingClientRect());
  for (let i = 0; i < boxes.length; i += 1) {
    for (let j = i + 1; j < boxes.length; j += 1) {
      const across = Math.min(boxes[i].right, boxes[j].right) - Math.max(boxes[i].left, boxes[j].left);
      const down = Math.min(boxes[i].bottom, boxes[j].bottom) - Math.max(boxes[i].top, boxes[j].top);
      if (across > 1 && down > 1) wrong.push(`${name(controls[i])} lies over ${name(controls[j])}`);
    }
  }
  // Parts for readers of the screen are one pixel wide, and what scrolls is not cut.
  const isCutting = (value) => value === 'hidden' || value === 'clip';
  for (const element of document.querySelectorAll('body *')) {
    if (element.textContent.trim() === '' || element.closest('svg') !== null || !element.checkVisibility()) continue;
    const { overflowX, overflowY } = getComputedStyle(element);
    const { width, height } = element.getBoundingClientRect();
    if (width <= 1 || height <= 1) continue;
    if (isCutting(overflowX) && element.scrollWidth > element.clientWidth + 1)
      wrong.push(`the text of ${name(element)} is cut at its side`);
    if (isCutting(overflowY) && element.scrollHeight > element.clientHeight + 1)
      wrong.push(`the text of ${name(element)} is cut at its end`);
  }
  for (const text of document.querySelectorAll('svg text')) {
    const [box, one] = [text.ownerSVGElement.getBoundingClientRect(), text.getBoundingClientRect()];
    if (one.width > 0 && (one.left < box.left - 1 || one.right > box.right + 1 || one.bottom > box.bottom + 1))
      wrong.push(`the text ${name(text)} of a picture is cut`);
  }
  const words = (element, look) => {
    const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    for (let node = texts.nextNode(); node !== null; node = texts.nextNode()) {
      for (const { index, 0: word } of node.data.matchAll(/\S+/g)) {
        const range = document.createRange();
        range.setStart(node, index);
        range.setEnd(node, index + word.length);
        look(word, [...range.getClientRects()]);
      }
    }
  };
  for (const control of controls.filter((one) => one.matches('button, a.button, summary'))) {
    words(control, (word, rects) => {
      const lines = new Set(rects.filter(({ width }) => width > 0).map(({ top }) => Math.round(top)));
      if (lines.size > 1) wrong.push(`${name(control)} breaks inside the word ${word}`);
    });
  }
  for (const label of document.querySelectorAll('label:not(.check)')) {
    const field = label.querySelector('input:not([type=hidden]), select, textarea');
    if (field === null || !field.checkVisibility()) continue;
    const box = field.getBoundingClientRect();
    words(label, (word, rects) => {
      for (const rect of rects) {
        if (rect.width === 0 || field.contains(label)) continue;
        const isBeside = rect.bottom > box.top + 1 && rect.top < box.bottom - 1;
        const gap = isBeside
          ? Math.max(box.left - rect.right, rect.left - box.right)
          : Math.max(box.top - rect.bottom, rect.top - box.bottom);
        if (gap < 0 || (isBeside && gap < 4))
          wrong.push(`the label ${word} touches its ${name(field)} (${Math.round(gap)} px)`);
      }
    });
  }
  for (const form of document.querySelectorAll('form[role=search], .row.find')) {
    const button = form.querySelector(':scope > button');
    const field = form.querySelector(':scope > label > input');
    if (button === null || field === null) continue;
    const [one, other] = [button.getBoundingClientRect(), field.getBoundingClientRect()];
    const isBeside = one.bottom > other.top && one.top < other.bottom;
    if (isBeside && Math.abs(one.bottom - other.bottom) > 1)
      wrong.push(`${name(button)} is ${other.bottom - one.bottom} px off its field`);
  }
  return [...new Set(wrong)];
})();
