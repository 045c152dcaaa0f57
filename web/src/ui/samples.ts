// Texts to try.

export interface Sample {
  name: string;
  text: string;
  /** Whether it is meant to be read with special tokens. */
  special?: boolean;
}

/** The first article of the Universal Declaration of Human Rights in languages of fifteen scripts. */
export const LANGUAGES: Sample[] = [
  {
    name: "English",
    text: "All human beings are born free and equal in dignity and rights. They are endowed with reason and conscience and should act towards one another in a spirit of brotherhood.\n",
  },
  {
    name: "German",
    text: "Alle Menschen sind frei und gleich an Würde und Rechten geboren. Sie sind mit Vernunft und Gewissen begabt und sollen einander im Geist der Brüderlichkeit begegnen.\n",
  },
  {
    name: "French",
    text: "Tous les êtres humains naissent libres et égaux en dignité et en droits. Ils sont doués de raison et de conscience et doivent agir les uns envers les autres dans un esprit de fraternité.\n",
  },
  {
    name: "Greek",
    text: "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα. Είναι προικισμένοι με λογική και συνείδηση, και οφείλουν να συμπεριφέρονται μεταξύ τους με πνεύμα αδελφοσύνης.\n",
  },
  {
    name: "Russian",
    text: "Все люди рождаются свободными и равными в своем достоинстве и правах. Они наделены разумом и совестью и должны поступать в отношении друг друга в духе братства.\n",
  },
  {
    name: "Armenian",
    text: "Բոլոր մարդիկ ծնվում են ազատ ու հավասար իրենց արժանապատվությամբ ու իրավունքներով։ Նրանք ունեն բանականություն ու խիղճ և միմյանց պետք է եղբայրաբար վերաբերվեն։\n",
  },
  {
    name: "Georgian",
    text: "ყველა ადამიანი იბადება თავისუფალი და თანასწორი თავისი ღირსებითა და უფლებებით. მათ მინიჭებული აქვთ გონება და სინდისი და ერთმანეთის მიმართ უნდა იქცეოდნენ ძმობის სულისკვეთებით.\n",
  },
  {
    name: "Hebrew",
    text: "כל בני האדם נולדו בני חורין ושווים בערכם ובזכויותיהם. כולם חוננו בתבונה ובמצפון, לפיכך חובה עליהם לנהוג איש ברעהו ברוח של אחווה.\n",
  },
  {
    name: "Arabic",
    text: "يولد جميع الناس أحرارًا متساوين في الكرامة والحقوق. وقد وهبوا عقلاً وضميرًا وعليهم أن يعامل بعضهم بعضًا بروح الإخاء.\n",
  },
  {
    name: "Hindi",
    text: "सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता और समानता प्राप्त है। उन्हें बुद्धि और अन्तरात्मा की देन प्राप्त है और परस्पर उन्हें भाईचारे के भाव से बर्ताव करना चाहिए।\n",
  },
  {
    name: "Bengali",
    text: "সমস্ত মানুষ স্বাধীনভাবে সমান মর্যাদা এবং অধিকার নিয়ে জন্মগ্রহণ করে। তাঁদের বিবেক এবং বুদ্ধি আছে; সুতরাং সকলেরই একে অপরের প্রতি ভ্রাতৃত্বসুলভ মনোভাব নিয়ে আচরণ করা উচিত।\n",
  },
  {
    name: "Tamil",
    text: "மனிதப் பிறவியினர் சகலரும் சுதந்திரமாகவே பிறக்கின்றனர்; அவர்கள் மதிப்பிலும், உரிமைகளிலும் சமமானவர்கள், அவர்கள் நியாயத்தையும் மனச்சாட்சியையும் இயற்பண்பாகப் பெற்றவர்கள். அவர்கள் ஒருவருடனொருவர் சகோதர உணர்வுப் பாங்கில் நடந்துகொள்ளல் வேண்டும்.\n",
  },
  {
    name: "Thai",
    text: "มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ ต่างมีเหตุผลและมโนธรรม และควรปฏิบัติต่อกันด้วยเจตนารมณ์แห่งภราดรภาพ\n",
  },
  {
    name: "Amharic",
    text: "የሰው ልጅ ሁሉ ሲወለድ ነጻና በክብርና በመብትም እኩልነት ያለው ነው። የተፈጥሮ ማስተዋልና ሕሊና ስላለው አንዱ ሌላውን በወንድማማችነት መንፈስ መመልከት ይገባዋል።\n",
  },
  { name: "Chinese", text: "人人生而自由,在尊严和权利上一律平等。他们赋有理性和良心,并应以兄弟关系的精神相对待。\n" },
  {
    name: "Japanese",
    text: "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。人間は、理性と良心とを授けられており、互いに同胞の精神をもって行動しなければならない。\n",
  },
  {
    name: "Korean",
    text: "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다. 인간은 천부적으로 이성과 양심을 부여받았으며 서로 형제애의 정신으로 행동하여야 한다.\n",
  },
];

const MIXED: Sample[] = [
  {
    name: "A little of everything",
    text: `The quick brown fox jumps over the lazy dog, and tokenization isn't as simple as it looks.

Größe, naïve café, Ελληνικά, русский, 日本語, 한국어, العربية, हिन्दी.
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)  # 1234567 numbers
👩‍👩‍👧 🇯🇵 👍🏽 <|endoftext|> hello hello  hello\thello
`,
  },
  {
    name: "Chat with special tokens",
    special: true,
    text: `<|im_start|>system
You are a helpful assistant.<|im_end|>
<|im_start|>user
What is 12 % of 1,250?<|im_end|>
<|im_start|>assistant
<think>
1,250 × 0.12 = 150
</think>
It is **150**.<|im_end|>
<|endoftext|>`,
  },
];

const CODE: Sample[] = [
  {
    name: "Python",
    text: `import re
from collections import Counter


def count_words(path: str, *, lower: bool = True) -> Counter[str]:
    """How often each word occurs in a file."""
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
  },
  {
    name: "JSON",
    text: `{
  "id": 9007199254740991,
  "name": "Zoë",
  "tags": ["a", "b\\u00e9", null, true],
  "price": 12.50,
  "nested": {"x": -1e-9, "y": [[], {}]}
}
`,
  },
  {
    name: "Math",
    text: `The roots of ax² + bx + c = 0 are x = (−b ± √(b² − 4ac)) / 2a, for a ≠ 0.
$$\\int_{-\\infty}^{\\infty} e^{-x^2}\\,dx = \\sqrt{\\pi}, \\quad \\sum_{n=1}^{\\infty} \\frac{1}{n^2} = \\frac{\\pi^2}{6}$$
∀ε > 0 ∃δ > 0: |x − x₀| < δ ⇒ |f(x) − f(x₀)| < ε; ∇·E = ρ/ε₀, A ∩ B ⊆ C, ℝ → ℂ
`,
  },
  {
    name: "Numbers",
    text: `1 12 123 1234 12345 123456 1234567 12345678
3.14159265358979 1,000,000 −17.5 6.02e23 0xDEADBEEF 0b1011 1/3 50% $9.99
2026-11-22T10:30:00Z 192.168.0.1 +49 30 901820 ١٢٣ १२३ 一二三 Ⅳ ½ x²
`,
  },
];

const MARKS: Sample[] = [
  { name: "Emoji", text: "👍 👍🏽 👩‍💻 👨‍👩‍👧‍👦 🏳️‍🌈 🇯🇵🇧🇷🇰🇪 ❤️ ☕ 1️⃣ 🤷🏿‍♀️ 🫠 e\u0301 \u200b zero\u200dwidth\n" },
  {
    name: "White space",
    text: "one  two   three\n\n\n\tindented\n        eight spaces\r\nwindows line\u00a0no-break\u3000wide\u200bzero width  \n",
  },
];

export const GROUPS: [name: string, samples: Sample[]][] = [
  ["Mixed", MIXED],
  ["Code, math, numbers", CODE],
  ["Emoji and white space", MARKS],
  ["Languages", LANGUAGES],
];

export const SAMPLES: Sample[] = GROUPS.flatMap(([, samples]) => samples);
