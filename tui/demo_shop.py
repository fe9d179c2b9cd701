"""What happens in the demo: a small tea shop, and an afternoon of work on its payment page that goes wrong."""

from __future__ import annotations

from dataclasses import dataclass, field

SHOP: dict[str, str] = {
    ".gitignore": "__pycache__/\n.env\n",
    ".env": "PAYMENT_KEY=not-a-real-key\n",
    "README.md": "# Leaf & Lantern\n\nA small tea shop: `python3 app.py`, then http://localhost:8000.\n",
    "app.py": '''"""The shop's pages, served with the standard library alone."""

from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import cart

TEMPLATES = Path(__file__).parent / "templates"
PAGES = {
    "/": "index.html",
    "/receipt": "receipt.html",
}


def page(name: str, **values: str) -> str:
    body = (TEMPLATES / name).read_text()
    for key, value in values.items():
        body = body.replace("{{ " + key + " }}", value)
    return (TEMPLATES / "base.html").read_text().replace("{{ body }}", body)


class Shop(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        name = PAGES.get(self.path)
        if name is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.end_headers()
        self.wfile.write(page(name, total=cart.total_text()).encode())


if __name__ == "__main__":
    HTTPServer(("", 8000), Shop).serve_forever()
''',
    "cart.py": '''"""What is in the cart, and what it costs. Prices are in cents."""

ITEMS = {"Sencha, 100 g": 1250, "Assam, 250 g": 1490}


def total() -> int:
    return sum(ITEMS.values())


def total_text() -> str:
    return f"{total() / 100:.2f} €"
''',
    "test_cart.py": """import unittest

import cart


class CartTest(unittest.TestCase):
    def test_total_adds_up(self) -> None:
        self.assertEqual(cart.total(), 2740)

    def test_cents_are_shown(self) -> None:
        self.assertEqual(cart.total_text()[-4:], "40 €")
""",
    "static/shop.css": """body {
  margin: 2rem auto;
  max-width: 40rem;
  color: #2b2b26;
  background: #faf8f2;
  font-family: Georgia, serif;
}

a, button {
  color: #2e6b4f;
}

button {
  padding: 0.5rem 1rem;
  border: 1px solid;
  background: none;
}
""",
    "templates/base.html": """<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <title>Leaf &amp; Lantern</title>
  <link rel="stylesheet" href="/static/shop.css">
</head>
<body>
<header><a href="/">Leaf &amp; Lantern</a></header>
{{ body }}
<footer>Open Tuesday to Saturday, 10 to 18</footer>
</body>
</html>
""",
    "templates/index.html": """<h1>Tea of the week</h1>
<ul>
  <li>Sencha, 100 g</li>
  <li>Assam, 250 g</li>
</ul>
<p>Your cart: {{ total }}</p>
""",
    "templates/receipt.html": """<h1>Thank you</h1>
<p>We have received {{ total }}. Your tea leaves tomorrow.</p>
<p><a href="/">Back to the shop</a></p>
""",
}
"""The project before the session, as it is committed."""

PAYMENT_PAGE = """<h1>Payment</h1>
<form method="post" action="/pay">
  <label>Card number <input name="number" inputmode="numeric" autocomplete="cc-number" required></label>
  <label>Valid until <input name="expiry" placeholder="MM/YY" autocomplete="cc-exp" required></label>
  <label>CVC <input name="cvc" inputmode="numeric" autocomplete="cc-csc" required></label>
  <button>Pay</button>
</form>
"""

PAYMENT_MODULE = '''"""Checks a card's number before anything is sent anywhere."""


def is_card_number(text: str) -> bool:
    digits = [int(char) for char in text if char.isdigit()]
    doubled = [digit * 2 - 9 * (digit > 4) for digit in digits[-2::-2]]
    return 12 <= len(digits) <= 19 and (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0
'''

POPUP = """const opener = document.querySelector("[data-pay]");

opener.addEventListener("click", () => {
  const popup = window.open("/pay", "pay", "width=420,height=560");
  if (!popup) {
    alert("Please allow popups to pay.");
  }
});
"""

WIZARD_PAGE = """<section class="wizard neon">
  <div class="progress"><i style="width: 20%"></i></div>
  <div class="step" data-step="1">
    <h1>Ready to level up?</h1>
    <p class="hint">5 quick steps to your tea!</p>
    <button class="glow">LET'S GO →</button>
  </div>
  <div class="step" data-step="2">
    <h1>Who are you?</h1>
    <input name="nickname" placeholder="Nickname">
    <button class="glow">NEXT →</button>
  </div>
  <div class="step" data-step="3">
    <h1>Your magic numbers</h1>
    <input name="number" placeholder="•••• •••• •••• ••••">
    <button class="glow">NEXT →</button>
  </div>
  <div class="step" data-step="4">
    <h1>Almost there!</h1>
    <input name="expiry" placeholder="MM/YY"><input name="cvc" placeholder="CVC">
    <button class="glow">NEXT →</button>
  </div>
  <div class="step" data-step="5">
    <h1>{{ total }}</h1>
    <button class="glow">PAY NOW</button>
  </div>
</section>
"""

NEON_STYLE = """:root {
  --neon: #39ff14;
  --night: #0b0014;
}

* {
  transition: all 0.4s ease-in-out;
}

body {
  margin: 0;
  color: var(--neon);
  background: radial-gradient(circle, #2b0057, var(--night));
  font-family: "Orbitron", monospace;
  text-transform: uppercase;
}

.wizard {
  max-width: 60rem;
  margin: 10vh auto;
  text-align: center;
}

.progress i {
  display: block;
  height: 6px;
  background: var(--neon);
  box-shadow: 0 0 24px var(--neon);
}

.glow {
  padding: 1.5rem 4rem;
  border: 3px solid var(--neon);
  border-radius: 999px;
  color: var(--neon);
  background: transparent;
  box-shadow: 0 0 32px var(--neon);
}
"""

NEON_BASE = """<!doctype html>
<html lang="en" class="dark">
<head>
  <meta charset="utf-8">
  <title>L&amp;L // TEA</title>
  <link rel="stylesheet" href="/static/shop.css">
</head>
<body>
<header class="neon">L&amp;L</header>
<main>{{ body }}</main>
<footer>Open Tuesday to Saturday, 10 to 18</footer>
</body>
</html>
"""

ROUND_CART = '''"""What is in the cart, and what it costs."""

ITEMS = {"Sencha, 100 g": 12, "Assam, 250 g": 15}


def total() -> int:
    return sum(ITEMS.values())


def total_text() -> str:
    return f"{total()} €"
'''


@dataclass(frozen=True, slots=True)
class Say:
    """A text of the agent."""

    text: str


@dataclass(frozen=True, slots=True)
class Look:
    """A call of a tool that only reads."""

    path: str


@dataclass(frozen=True, slots=True)
class Write:
    """The agent writes a whole file."""

    path: str
    content: str


@dataclass(frozen=True, slots=True)
class Edit:
    """The agent replaces a piece of a file."""

    path: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Shell:
    """A command that the agent runs; it is run for real, in the project."""

    command: str
    why: str


Act = Say | Look | Write | Edit | Shell


@dataclass(frozen=True, slots=True)
class Turn:
    """A prompt and what the agent does about it."""

    minutes: int
    """How long before now the prompt was sent."""
    prompt: str
    acts: tuple[Act, ...]
    rewound: bool = False
    """The person went back to before this prompt afterwards, in the agent's own screen: its files and its talk."""
    label: str = ""
    """What the person called the moment before this prompt."""


@dataclass(frozen=True, slots=True)
class Afternoon:
    """The whole session."""

    title: str
    turns: tuple[Turn, ...]
    by_hand: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    """What the person changed at the end, by path: a piece and what stands for it."""


AFTERNOON = Afternoon(
    "Payment page for the tea shop",
    (
        Turn(
            104,
            "Add a payment page: card number, expiry, CVC and one button. As plain as the rest of the shop, please.",
            (
                Say("I'll look at the pages first, then add one in the same style."),
                Look("templates/index.html"),
                Look("app.py"),
                Write("templates/payment.html", PAYMENT_PAGE),
                Write("payment.py", PAYMENT_MODULE),
                Edit(
                    "app.py",
                    '    "/receipt": "receipt.html",\n',
                    '    "/pay": "payment.html",\n    "/receipt": "receipt.html",\n',
                ),
                Shell("python3 -m unittest", "Run the tests"),
                Say("The page is at /pay; the card number is checked before anything is sent."),
            ),
        ),
        Turn(
            89,
            "Could the form open in a popup instead of a page of its own?",
            (
                Write("static/popup.js", POPUP),
                Edit("templates/index.html", "{{ total }}</p>", "{{ total }} <button data-pay>Pay</button></p>"),
                Edit("templates/base.html", "</body>", '<script src="/static/popup.js"></script>\n</body>'),
                Say("The form opens in a popup. Browsers that block popups show a message instead."),
            ),
            rewound=True,
        ),
        Turn(
            77,
            "Show the order's total and the shipping above the form.",
            (
                Edit(
                    "cart.py",
                    "def total() -> int:\n    return sum(ITEMS.values())\n",
                    "def shipping() -> int:\n    return 0 if sum(ITEMS.values()) >= 2500 else 390\n\n\n"
                    "def total() -> int:\n    return sum(ITEMS.values()) + shipping()\n",
                ),
                Edit(
                    "templates/payment.html",
                    "<h1>Payment</h1>\n",
                    "<h1>Payment</h1>\n<p>Your order: {{ total }}, shipping included.</p>\n",
                ),
                Shell("python3 -m unittest", "Run the tests"),
                Say("The total stands above the form. From 25 € on, shipping is free."),
            ),
        ),
        Turn(
            62,
            "Good. Commit that and push it.",
            (
                Shell("git add -A && git commit -q -m 'Add a payment page' && git log --oneline -1", "Commit"),
                Shell("git push origin main 2>&1", "Push"),
                Say("Committed and pushed to main."),
            ),
        ),
        Turn(
            55,
            "Offer gift wrapping on the payment page, for 2 €.",
            (
                Edit(
                    "templates/payment.html",
                    "  <button>Pay</button>\n",
                    '  <label><input type="checkbox" name="wrapped"> Wrap it as a gift, 2 €</label>\n'
                    "  <button>Pay</button>\n",
                ),
                Edit(
                    "cart.py",
                    "def total() -> int:\n    return sum(ITEMS.values()) + shipping()\n",
                    "def total(wrapped: bool = False) -> int:\n"
                    "    return sum(ITEMS.values()) + shipping() + 200 * wrapped\n",
                ),
                Shell("python3 -m unittest", "Run the tests"),
                Say("There is a box to tick above the button; wrapping adds 2 € to the total."),
            ),
            rewound=True,
        ),
        Turn(
            47,
            "Now redesign the payment page. It should feel modern.",
            (
                Say("I'll turn it into a guided flow with a strong visual identity."),
                Write("templates/payment.html", WIZARD_PAGE),
                Write("static/shop.css", NEON_STYLE),
                Write("templates/base.html", NEON_BASE),
                Write("cart.py", ROUND_CART),
                Shell("rm templates/receipt.html", "The flow ends on its own page now"),
                Say("The payment is a five-step flow in neon now. I simplified prices to whole euros on the way."),
            ),
            label="works",
        ),
        Turn(
            24,
            "That is loud. Fewer steps at least, and where did the receipt go?",
            (
                Edit(
                    "templates/payment.html",
                    '  <div class="step" data-step="2">\n    <h1>Who are you?</h1>\n'
                    '    <input name="nickname" placeholder="Nickname">\n'
                    '    <button class="glow">NEXT →</button>\n  </div>\n',
                    "",
                ),
                Edit("templates/payment.html", "5 quick steps", "4 quick steps"),
                Say("Four steps now. The receipt page was not needed any more, so I had removed it."),
            ),
        ),
    ),
    {"templates/base.html": ("10 to 18</footer>", "10 to 18, on Sundays in December too</footer>")},
)
