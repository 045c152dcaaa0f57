// Texts to try. The sentences are the first article of the Universal Declaration of Human Rights.

export const SAMPLES: [name: string, text: string][] = [
  [
    "A little of everything",
    `The quick brown fox jumps over the lazy dog, and tokenization isn't as simple as it looks.

Größe, naïve café, Ελληνικά, русский, 日本語, 한국어, العربية, हिन्दी.
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)  # 1234567 numbers
👩‍👩‍👧 🇯🇵 👍🏽 <|endoftext|> hello hello  hello\thello
`,
  ],
  [
    "English",
    "All human beings are born free and equal in dignity and rights. They are endowed with reason and conscience and should act towards one another in a spirit of brotherhood.\n",
  ],
  [
    "Deutsch",
    "Alle Menschen sind frei und gleich an Würde und Rechten geboren. Sie sind mit Vernunft und Gewissen begabt und sollen einander im Geist der Brüderlichkeit begegnen.\n",
  ],
  [
    "Français",
    "Tous les êtres humains naissent libres et égaux en dignité et en droits. Ils sont doués de raison et de conscience et doivent agir les uns envers les autres dans un esprit de fraternité.\n",
  ],
  [
    "Русский",
    "Все люди рождаются свободными и равными в своем достоинстве и правах. Они наделены разумом и совестью и должны поступать в отношении друг друга в духе братства.\n",
  ],
  ["中文", "人人生而自由,在尊严和权利上一律平等。他们赋有理性和良心,并应以兄弟关系的精神相对待。\n"],
  [
    "日本語",
    "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。人間は、理性と良心とを授けられており、互いに同胞の精神をもって行動しなければならない。\n",
  ],
  [
    "한국어",
    "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다. 인간은 천부적으로 이성과 양심을 부여받았으며 서로 형제애의 정신으로 행동하여야 한다.\n",
  ],
  [
    "العربية",
    "يولد جميع الناس أحرارًا متساوين في الكرامة والحقوق. وقد وهبوا عقلاً وضميرًا وعليهم أن يعامل بعضهم بعضًا بروح الإخاء.\n",
  ],
  [
    "हिन्दी",
    "सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता और समानता प्राप्त है। उन्हें बुद्धि और अन्तरात्मा की देन प्राप्त है और परस्पर उन्हें भाईचारे के भाव से बर्ताव करना चाहिए।\n",
  ],
  [
    "ไทย",
    "มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ ต่างมีเหตุผลและมโนธรรม และควรปฏิบัติต่อกันด้วยเจตนารมณ์แห่งภราดรภาพ\n",
  ],
  [
    "Python",
    `import re
from collections import Counter


def count_words(path: str, *, lower: bool = True) -> Counter[str]:
    """How often each word stands in a file."""
    counts: Counter[str] = Counter()
    with open(path, encoding="utf-8") as file:
        for line in file:
            if lower:
                line = line.lower()
            counts.update(re.findall(r"\\w+", line))
    return counts


if __name__ == "__main__":
    for word, n in count_words("corpus.txt").most_common(10):
        print(f"{word:<20}{n:>8,}")
`,
  ],
  [
    "JSON",
    `{
  "id": 9007199254740991,
  "name": "Zoë",
  "tags": ["a", "b\\u00e9", null, true],
  "price": 12.50,
  "nested": {"x": -1e-9, "y": [[], {}]}
}
`,
  ],
  ["Emoji", "👍 👍🏽 👩‍💻 👨‍👩‍👧‍👦 🏳️‍🌈 🇯🇵🇧🇷🇰🇪 ❤️ ☕ 1️⃣ 🤷🏿‍♀️ 🫠 e\u0301 \u200b zero\u200dwidth\n"],
  [
    "White space and numbers",
    "one  two   three\n\n\n\tindented\n        eight spaces\r\nwindows line\u00a0no-break\u3000wide\n3.14159265358979 1,000,000 2026-11-21 0xDEADBEEF  \n",
  ],
];
