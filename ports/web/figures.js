// Matrices on canvases, read by keys and pointer. SPDX-License-Identifier: MIT
'use strict';

// viridis, eight of its values, whose lightness rises evenly: Smith, van der Walt, Firing 2015, CC0.
const viridis = [[68, 1, 84], [70, 50, 126], [54, 92, 141], [39, 127, 142], [31, 161, 135], [74, 193, 109], [160, 218, 57], [253, 231, 37]];
const greys = [[255, 255, 255], [0, 0, 0]];
function colourOf(stops, share) {
  const at = Math.min(Math.max(share, 0), 1) * (stops.length - 1), i = Math.min(Math.floor(at), stops.length - 2);
  return stops[i].map((x, c) => Math.round(x + (stops[i + 1][c] - x) * (at - i)));
}

// Figures in one place share a scale and its legend. Weights begin at 0.
class Scale {
  constructor(parent, what = 'weight', least = 0, greatest = least, stops = viridis) {
    Object.assign(this, { least, greatest, stops, figures: [] });
    const bar = document.createElement('span');
    bar.className = 'bar';
    bar.style.background = `linear-gradient(90deg, ${stops.map((colour) => `rgb(${colour})`)})`;
    this.most = document.createElement('span');
    this.most.textContent = `${greatest}`;
    const legend = document.createElement('p');
    legend.className = 'legend';
    legend.append(`${what} ${least} `, bar, ' ', this.most);
    parent.append(legend);
  }
  include(values) {
    let grown = false;
    for (const value of values) if (value > this.greatest) (this.greatest = value), (grown = true);
    if (grown) this.most.textContent = this.greatest.toPrecision(3);
    return grown;
  }
  share(value) {
    return this.greatest > this.least ? (value - this.least) / (this.greatest - this.least) : 0;
  }
}

const gap = 6, lineHeight = 11, leftOfNumbers = 44;
const shorten = (text) => (text.length > 12 ? `${text.slice(0, 11)}…` : text);

class Figure {
  // what: {title, rows, columns: labels or null, nRows, nColumns, rowHeight: pixels or null for square cells, up: rows from
  // below, rowMarks, columnMarks: [[cells, text]], name(row, column, value): what the reader is told}
  constructor(parent, readout, scale, what) {
    Object.assign(this, { stops: scale.stops, rows: null, columns: null, rowHeight: null }, what);
    this.scale = scale;
    this.readout = readout;
    this.values = new Float32Array(this.nRows * this.nColumns).fill(NaN);
    scale.figures.push(this);
    const figure = document.createElement('figure');
    const caption = document.createElement('figcaption');
    caption.textContent = this.title;
    this.canvas = document.createElement('canvas');
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute('role', 'img');
    this.canvas.setAttribute('aria-label', `${this.title}: ${this.nRows} rows, ${this.nColumns} columns; arrow keys read single values`);
    figure.append(caption, this.canvas);
    parent.insertBefore(figure, parent.querySelector('.legend'));
    this.canvas.addEventListener('keydown', (event) => this.key(event));
    this.canvas.addEventListener('pointermove', (event) => this.point(event));
    this.canvas.addEventListener('pointerdown', (event) => this.point(event));
    this.canvas.addEventListener('pointerleave', () => this.choose(null));
    this.canvas.addEventListener('blur', () => this.choose(null));
    new ResizeObserver(() => this.draw()).observe(figure);
  }

  // Rows from `first` on.
  set(first, values) {
    this.values.set(values, first * this.nColumns);
    if (this.scale.include(values)) for (const figure of this.scale.figures) figure.draw();
    else this.draw();
  }

  layOut(context) {
    const width = this.canvas.parentElement.clientWidth;
    const widest = (labels) => Math.max(0, ...labels.map((label) => context.measureText(shorten(label)).width));
    this.left = this.rows ? widest(this.rows) + gap + 4 : this.rowMarks ? leftOfNumbers : 0;
    if (this.columnMarks) this.left = leftOfNumbers;
    this.top = this.columns ? widest(this.columns) + gap : gap;
    this.cell = Math.max(0.5, (width - this.left - 1) / this.nColumns);
    this.height = this.rowHeight ?? this.cell;
    return [width, this.top + this.height * this.nRows + (this.columnMarks ? 34 : 1)];
  }

  draw() {
    const context = this.canvas.getContext('2d');
    const font = '11px system-ui, sans-serif';
    context.font = font;
    const [width, height] = this.layOut(context);
    const ratio = window.devicePixelRatio || 1;
    if (this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(height * ratio)) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
      this.canvas.style.height = `${height}px`;
    }
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    const thin = this.cell >= 8 && this.height >= 8 && this.rows && this.columns ? 1 : 0;
    for (let i = 0; i < this.nRows; i++)
      for (let j = 0; j < this.nColumns; j++) {
        const value = this.values[i * this.nColumns + j];
        context.fillStyle = Number.isNaN(value) ? '#eee' : `rgb(${colourOf(this.stops, this.scale.share(value))})`;
        const x = this.left + j * this.cell, y = this.y(i);
        context.fillRect(x, y, this.cell - thin + (thin ? 0 : 0.6), this.height - (thin || (this.rows ? 1 : 0)) + (this.rows ? 0 : 0.6));
      }
    context.strokeStyle = '#bbb';
    context.lineWidth = 1;
    if (!thin) context.strokeRect(this.left + 0.5, this.top + 0.5, this.cell * this.nColumns - 1, this.height * this.nRows - 1);
    context.font = font;
    context.fillStyle = '#222';
    this.label(context);
    if (this.at) {
      context.lineWidth = 2;
      for (const [style, inset] of [['#fff', 0], ['#d55e00', 2]]) {
        context.strokeStyle = style;
        context.strokeRect(this.left + this.at[1] * this.cell - 2 + inset / 2, this.y(this.at[0]) - 2 + inset / 2, this.cell + 4 - inset, this.height + 4 - inset);
      }
    }
  }

  y(row) { return this.top + (this.up ? this.nRows - 1 - row : row) * this.height; }

  label(context) {
    context.textBaseline = 'middle';
    context.textAlign = 'right';
    const every = (size) => Math.max(1, Math.ceil(lineHeight / size));
    if (this.rows) for (let i = 0; i < this.nRows; i += every(this.height)) context.fillText(shorten(this.rows[i]), this.left - gap, this.y(i) + this.height / 2);
    for (const [cells, text] of this.rowMarks ?? []) context.fillText(text, this.left - gap, this.top + (this.nRows - cells) * this.height);
    context.textAlign = 'left';
    if (this.columns)
      for (let j = 0; j < this.nColumns; j += every(this.cell)) {
        context.save();
        context.translate(this.left + (j + 0.5) * this.cell, this.top - gap);
        context.rotate(-Math.PI / 2);
        context.fillText(shorten(this.columns[j]), 0, 0);
        context.restore();
      }
    context.textAlign = 'center';
    for (const [cells, text] of this.columnMarks ?? []) {
      const x = this.left + cells * this.cell, y = this.top + this.nRows * this.height;
      context.fillRect(x, y, 1, 5);
      context.fillText(text, x, y + 15);
    }
  }

  choose(at) {
    this.at = at;
    if (at) this.readout.textContent = `${this.title}: ${this.name(at[0], at[1], this.values[at[0] * this.nColumns + at[1]])}`;
    this.draw();
  }

  key(event) {
    const step = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (!step) return;
    event.preventDefault();
    const [i, j] = this.at ?? [0, 0], down = this.up ? -step[0] : step[0];
    const to = this.at ? [i + down, j + step[1]] : [0, 0];
    this.choose([Math.min(Math.max(to[0], 0), this.nRows - 1), Math.min(Math.max(to[1], 0), this.nColumns - 1)]);
  }

  point(event) {
    const box = this.canvas.getBoundingClientRect();
    const j = Math.floor((event.clientX - box.left - this.left) / this.cell);
    const line = Math.floor((event.clientY - box.top - this.top) / this.height), i = this.up ? this.nRows - 1 - line : line;
    this.choose(i >= 0 && j >= 0 && i < this.nRows && j < this.nColumns ? [i, j] : null);
  }
}

// A table of each figure's numbers, made when it is opened.
function showNumbers(details, figures) {
  details.querySelectorAll('table').forEach((table) => table.remove());
  if (!details.open) return;
  for (const figure of figures()) {
    const table = document.createElement('table');
    table.createCaption().textContent = figure.title;
    const line = (tag, cells) => {
      const row = table.insertRow();
      cells.forEach((text, j) => {
        const cell = document.createElement(j === 0 ? 'th' : tag);
        cell.textContent = text;
        row.append(cell);
      });
    };
    line('th', ['', ...Array.from({ length: figure.nColumns }, (_, j) => figure.columnName(j))]);
    for (let i = 0; i < figure.nRows; i++)
      line('td', [figure.rows[i], ...Array.from(figure.values.subarray(i * figure.nColumns, (i + 1) * figure.nColumns), (x) => (Number.isNaN(x) ? '' : x.toFixed(4)))]);
    details.append(table);
  }
}
